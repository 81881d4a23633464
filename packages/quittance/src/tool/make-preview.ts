import type { Awaitable } from '../base/json.ts';
import type { PreviewRevision } from './preview.ts';
import type { Principal } from './tool-context.ts';

/** Returns one version, or a stream of them of which the last counts. It must change nothing. */
export type MakePreview<Args> = (
  args: Args,
  context: PreviewContext,
) => Awaitable<PreviewRevision> | AsyncIterable<PreviewRevision>;

/** The context of a preview. */
export type PreviewContext = {
  readonly callId: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly toolName: string;
  readonly principal: Principal | undefined;
  /** Identifies this preview, also in the body and in `cancel`. */
  readonly operationId: string;
  /** Aborted when no caller waits for the preview any more. */
  readonly signal: AbortSignal;
};
