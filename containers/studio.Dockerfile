# The studio in a container. From the folder of the project, after `make release-check`:
#   docker build -f containers/studio.Dockerfile -t phaselabel-studio .
#   docker run --rm --network host --user "$(id -u):$(id -g)" -v "$PWD:/data" phaselabel-studio photo.jpg
# The studio listens on the loopback address only, so the container shares the network of the host.
FROM python:3.13-slim

COPY dist/*.whl /tmp/
RUN wheel=$(ls /tmp/phaselabel-*.whl) \
    && pip install --no-cache-dir --prefer-binary "$wheel[studio]" \
    && rm /tmp/*.whl

# Compiled kernels are cached in a folder that any user may write.
ENV HOME=/tmp NUMBA_CACHE_DIR=/tmp/numba
WORKDIR /data
ENTRYPOINT ["phaselabel", "studio", "--no-browser", "--port", "8000"]
