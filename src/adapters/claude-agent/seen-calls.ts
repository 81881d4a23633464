import type { ClaudeAgentHookInput } from './tool.ts';
import { TranscriptCalls } from './transcript.ts';
import { resumesDeferred } from './resumes-deferred.ts';

type Seen = {
  readonly hook: ClaudeAgentHookInput | undefined;
  /** How many earlier calls of the conversation had this id. */
  readonly earlier: number;
};

const mostSeen = 1_000;

/** What the hooks and the server of one run know about its calls. The SDK asks a hook first, then calls the tool. */
export class SeenCalls {
  /** Our ids of calls that people approved: provider ids may be used again. */
  readonly approved: Set<string> = new Set<string>();
  readonly #hooked = new Map<string, Seen>();
  #places = new TranscriptCalls();
  #resumes = false;
  #deferred: string | undefined;

  /** Whether the connected program can resume a query at a deferred call. */
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
    // The SDK never calls what it denies after this: such entries must not pile up.
    if (this.#hooked.size >= mostSeen && oldest !== undefined) this.#hooked.delete(oldest);
    const earlier = await this.#places.earlier(toolUseId, hook.transcript_path);
    this.#hooked.set(toolUseId, { hook, earlier });
    return earlier;
  }

  /** Removes and returns the stored input for a call that begins now. */
  take(toolUseId: string): Seen {
    const seen = this.#hooked.get(toolUseId) ?? { hook: undefined, earlier: 0 };
    this.#hooked.delete(toolUseId);
    if (this.#deferred === toolUseId) this.#deferred = undefined;
    return seen;
  }

  /** Whether this call is the one deferred call of its message. The first that asks is. */
  defers(toolUseId: string): boolean {
    this.#deferred ??= toolUseId;
    return this.#deferred === toolUseId;
  }

  answered(toolUseId: string): void {
    this.#places.answered(toolUseId);
  }
}
