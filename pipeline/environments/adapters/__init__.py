"""Other people's environments: OpenEnv servers and tasksets of `verifiers`, named by a small file of the user.

`NAME.openenv.yaml` or `NAME.verifiers.yaml` in `environments.folder` says where the environment is; its tasks stand in
`NAME.jsonl` beside it. A library is imported by the adapter that needs it and nowhere else.
"""
