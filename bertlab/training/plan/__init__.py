"""What a pretraining takes before it is begun: operations, memory, time, money and CO2, each with its assumptions."""

from bertlab.training.plan.job import Job
from bertlab.training.plan.plan import Plan, plan_gpus, plan_here

__all__ = ["Job", "Plan", "plan_gpus", "plan_here"]
