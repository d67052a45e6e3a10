"""The layers: each is a toolset around a toolset, and applies one part of the policy to every call."""
