import type { Told } from './told.ts';

/** What became of a call whose owner was gone. */
export type RecoveredCall = {
  readonly sessionId: string;
  readonly callId: string;
  readonly toolName: string;
  readonly how:
    'cancelled' | 'resumed' | 'rerun' | 'reconciled' | 'indeterminate' | 'failed' | 'timed_out' | 'left';
};

/** What became of it, and what whoever asks for it is told. */
export type Recovery = { readonly how: RecoveredCall['how'] | 'overtaken'; readonly told: Told | undefined };
