import numpy as np
import pytest

import phaselabel as pl
from phaselabel.report.findings import gather


@pytest.fixture(scope="package")
def findings(digits):
    """Digits with hostile names, 120 of 400 labelled, every tenth label wrong, that of row 3 among them."""
    X, y = digits
    X, y = X[:400], y[:400]
    names = np.array([f"<script>alert({k})</script>" for k in range(10)], object)
    labels = np.where(np.arange(400) < 120, names[y], None)
    labels[3:120:10] = names[(y[3:120:10] + 5) % 10]
    model = pl.GinzburgLandauClassifier(unlabeled=None).fit(X, labels)
    return gather(model, title='"><img onerror=x>', label="digit")
