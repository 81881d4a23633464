/** The options of one call, and their checks. */
import { QuittanceError } from '../../base/error.ts';
import type { CallOptions } from '../host/call-options.ts';
import { checkKeys } from '../../base/check-keys.ts';

/** The default options, one shared object. */
export const noOptions: CallOptions = Object.freeze({});

const callOptionNames = [
  'attrs',
  'principal',
  'provenance',
  'askedBy',
  'traceparent',
  'signal',
  'onProgress',
] as const;

/** Runs before the call becomes active. An error after that would leave the call active for ever. */
export function checkCallOptions(options: CallOptions): void {
  checkKeys('turn.call', options, callOptionNames);
  const { signal, onProgress } = options;
  if (signal !== undefined && typeof signal?.addEventListener !== 'function')
    throw new QuittanceError('config.invalid', 'The signal of a call must be an AbortSignal.');
  if (onProgress !== undefined && typeof onProgress !== 'function')
    throw new QuittanceError('config.invalid', 'onProgress of a call must be a function.');
}
