# Workers (and the scheduler) of a Dask cluster that can run `phaselabel label --dask`. After `make release-check`:
#   docker build -f containers/dask-worker.Dockerfile -t phaselabel-dask .
#   docker run --rm -p 8786:8786 phaselabel-dask dask scheduler
#   docker run --rm -e AWS_ACCESS_KEY_ID -e AWS_SECRET_ACCESS_KEY phaselabel-dask \
#       dask worker tcp://scheduler:8786 --nthreads 1 --memory-limit 8GiB
# All workers and the client need the same phaselabel, and one place for the files of the job (--checkpoint): an object
# store, or a folder that all of them have at the same path (-v /shared:/shared). See docs/deployment.md.
FROM python:3.13-slim

COPY dist/*.whl /tmp/
RUN wheel=$(ls /tmp/phaselabel-*.whl) \
    && pip install --no-cache-dir --prefer-binary "$wheel[dask,files,s3]" \
    && rm /tmp/*.whl \
    && useradd --create-home worker

USER worker
ENV OMP_NUM_THREADS=1
CMD ["dask", "worker", "--help"]
