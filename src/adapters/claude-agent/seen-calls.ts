import type { ClaudeAgentHookInput } from './tool.ts';
import { TranscriptCalls } from './transcript.ts';
import { resumesDeferred } from './resumes-deferred.ts';

type Seen = {
  readonly hook: ClaudeAgentHookInput | undefined;
  /** Number of earlier calls of the conversation with this id. */
  readonly earlier: number;
};

const mostSeen = 1_000;

/** Facts about the calls of one run, shared by its hooks and its server. The SDK calls a hook first, then the tool. */
export class SeenCalls {
  /** Our ids of approved calls, because provider ids may be reused. */
  readonly approved: Set<string> = new Set<string>();
  readonly #hooked = new Map<string, Seen>();
  #places = new TranscriptCalls();
  #resumes = false;
  #deferred: string | undefined;

  /** Can the connected program resume a query at a deferred call? */
  get resumesDeferred(): boolean {
    return this.#resumes;
  }

  connected(): void {
    this.#deferred = undefined;
    this.#places = new TranscriptCalls();
  }

  setClient(version: string): void {
    this.#resumes = resumesDeferred(version);
  }

  /** Stores the input of a hook for a call. Returns how many earlier calls had its id. */
  async note(toolUseId: string, hook: ClaudeAgentHookInput): Promise<number> {
    const [oldest] = this.#hooked.keys();
    // The SDK never calls a tool that it denies later, so such entries must be limited.
    if (this.#hooked.size >= mostSeen && oldest !== undefined) this.#hooked.delete(oldest);
    const earlier = await this.#places.earlier(toolUseId, hook.transcript_path);
    this.#hooked.set(toolUseId, { hook, earlier });
    return earlier;
  }

  /** Removes and returns the stored input for a call that starts now. */
  take(toolUseId: string): Seen {
    const seen = this.#hooked.get(toolUseId) ?? { hook: undefined, earlier: 0 };
    this.#hooked.delete(toolUseId);
    if (this.#deferred === toolUseId) this.#deferred = undefined;
    return seen;
  }

  /** Is this the deferred call of its message? The first that asks is. */
  defers(toolUseId: string): boolean {
    this.#deferred ??= toolUseId;
    return this.#deferred === toolUseId;
  }

  answered(toolUseId: string): void {
    this.#places.answered(toolUseId);
  }
}
