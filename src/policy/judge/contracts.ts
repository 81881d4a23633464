/** Rules in force: what a runtime is given. Made by the functions of `quittance/contracts`. */
import type { SuccessCheck } from '../../tool/success-check.ts';
import type { Policy } from './compile-policy.ts';
import type { WorkflowHost } from '../workflow/first-shut-gate.ts';

export type Contracts = {
  /** As they are now. Another object after they were reloaded, so whoever judges a call keeps the one it began with. */
  readonly policy: Policy;
  /** What they were read from, as it is now. Rules made by a program have no text. */
  readonly documents: readonly ContractDocument[];
  /** The files they were read from, absolute. Left out by rules that come from no file. */
  readonly files?: readonly string[];
  readonly workflowHost: WorkflowHost;
  /** The same rules with relative paths relative to this folder. Left out by rules that cannot be moved. */
  readonly inDirectory?: (workingDirectory: string) => Contracts;
  /** Used for tools that have no check of their own in a runtime that has none. */
  readonly successCheck: SuccessCheck | undefined;
};

export type ContractDocument = {
  readonly name: string;
  /** sha256 of its bytes. */
  readonly stamp: string;
  readonly text?: string;
};
