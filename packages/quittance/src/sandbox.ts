/** Shell and file tools whose processes the kernel confines, configured by the sandbox rules of a contract. */
export { createSandbox } from './sandbox/create-sandbox.ts';
export type { Sandbox, SandboxOptions } from './sandbox/create-sandbox.ts';
export type { FileToolNames } from './sandbox/file-tools.ts';
export type { ShellInput, ShellOutput, ShellToolOptions } from './sandbox/shell-tool.ts';
export { checkSandbox } from './sandbox/check-sandbox.ts';
export type { SandboxCheck } from './sandbox/check-sandbox.ts';
export type { SandboxRun, SandboxStop } from './sandbox/run-sandboxed.ts';
export type { SandboxCover } from './sandbox/covers.ts';
export type { HostRule, SandboxLimits, SandboxPlan } from './sandbox/plan.ts';
export { isSandboxedTool } from './tool/sandboxed-tool.ts';
