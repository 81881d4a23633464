/** The rules in force, as passed to a runtime. Created by the functions of `quittance/contracts`. */
import type { SuccessCheck } from '../../tool/success-check.ts';
import type { Policy } from './compile-policy.ts';
import type { WorkflowHost } from '../workflow/first-shut-gate.ts';

export type Contracts = {
  /** The current policy. A reload replaces the object, so a call keeps the one it started with. */
  readonly policy: Policy;
  /** The current source documents. Programmatic rules have no text. */
  readonly documents: readonly ContractDocument[];
  /** Absolute paths of the source files. Absent for rules that come from no file. */
  readonly files?: readonly string[];
  readonly workflowHost: WorkflowHost;
  /** The same rules with relative paths resolved against this folder. Absent for rules that do not support it. */
  readonly inDirectory?: (workingDirectory: string) => Contracts;
  /** Used for tools without a success check, in a runtime without a default one. */
  readonly successCheck: SuccessCheck | undefined;
};

export type ContractDocument = {
  readonly name: string;
  /** sha256 of its bytes. */
  readonly stamp: string;
  readonly text?: string;
};
