"""What a pretraining takes, estimated beforehand: operations, memory and time, with their assumptions."""

from bertlab.training.plan.job import Job
from bertlab.training.plan.machines import known_gpus, parse_gpus
from bertlab.training.plan.plan import Plan, config_of, plan_gpus, plan_here

__all__ = ["Job", "Plan", "config_of", "known_gpus", "parse_gpus", "plan_gpus", "plan_here"]
