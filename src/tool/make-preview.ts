import type { Awaitable } from '../base/json.ts';
import type { PreviewRevision } from './preview.ts';
import type { Principal } from './tool-context.ts';

/** Gives one version, or a stream of them of which the last one counts. It must change nothing. */
export type MakePreview<Args> = (
  args: Args,
  context: PreviewContext,
) => Awaitable<PreviewRevision> | AsyncIterable<PreviewRevision>;

/** What a preview is given beside the arguments. */
export type PreviewContext = {
  readonly callId: string;
  readonly sessionId: string;
  readonly turnId: string;
  readonly toolName: string;
  readonly principal: Principal | undefined;
  /** Names this preview, in the body and in `cancel` too. */
  readonly operationId: string;
  /** Aborted when nobody waits for the preview any more. */
  readonly signal: AbortSignal;
};
