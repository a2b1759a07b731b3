"""accelerate launch train.py CORPUS RUN [NAME=VALUE …]: needs torch, numpy, safetensors and accelerate alone."""

import json
import sys
from contextlib import suppress
from pathlib import Path

from rnnlens.training.command import SHAPE, given_fields, train_command

options = dict(option.split("=", 1) for option in sys.argv[3:])
for name, text in options.items():
    with suppress(ValueError):  # a word, as in arch=lstm, stays a word
        options[name] = json.loads(text)
given = given_fields(options, SHAPE)
train_command(sys.argv[1], Path(sys.argv[2]), given, resume=True, **{k: options[k] for k in options.keys() - given})
