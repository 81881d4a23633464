/** Failed writes that belong to no stored call. */
import type { ToolMode, ToolModeOrigin } from '../../tool/mode.ts';
import type { Principal } from '../../tool/tool-context.ts';
import type { PersistenceBoundary } from '../persistence-boundary.ts';
import type { EventOf } from './event-of.ts';

export type RefusalEvent = CallNotAccepted | FailedWritesUnlisted;

/**
 * The ledger could not store a call: the runtime did not accept it and nothing ran. It opens no call and has
 * no arguments.
 */
export type CallNotAccepted = EventOf<
  'call.not_accepted',
  {
    /** The id of the refused call. */
    refusedCallId: string;
    toolName: string;
    mode: ToolMode;
    modeOrigin: ToolModeOrigin;
    principal: Principal | undefined;
    boundary: PersistenceBoundary;
    error: string;
    /** When the write failed, in milliseconds since 1970. `at` says when this was recorded. */
    failedAt: number;
  }
>;

/**
 * Further failed writes that are only counted, because a process lists a limited number. In the chain of the
 * ledger itself.
 */
export type FailedWritesUnlisted = EventOf<
  'persistence.unlisted',
  {
    count: number;
    /** When the first and the last of them failed, in milliseconds since 1970. */
    firstAt: number;
    lastAt: number;
    /** Why the first of them failed. */
    error: string;
  }
>;
