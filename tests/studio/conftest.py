from driving import browser, digit_file, flower, page_of, studio  # noqa: F401
