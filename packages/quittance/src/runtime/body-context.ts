/**
 * The context of a body. Properties are created on first use, because most bodies use none; until then some are on the
 * prototype. Its functions may be destructured, as in `run(args, { signal, log })`.
 */
import { QuittanceError } from '../base/error.ts';
import type { JsonObject } from '../base/json.ts';
import { isJsonObject, toJson } from '../base/json.ts';
import type { LogLine } from '../call/events/attempt-event.ts';
import { cutText } from '../base/cut-text.ts';
import type { Attachment, Principal, ToolContext } from '../tool/tool-context.ts';
import type { PreviewedOperation } from '../tool/preview.ts';
import { traceparentOf } from './call-observer.ts';
import type { CheckedCall } from './active-call.ts';
import { clean, cleanObject } from './call-input.ts';
import { operationFor } from './recorded-input.ts';

const mostLogLines = 200;
/** Longest log line or target, in characters. */
export const longestLine = 2_000;
const mostTargets = 200;
const mostAttachments = 100;

const nothing: readonly never[] = [];

export class BodyContext implements ToolContext {
  readonly attempt: number;
  readonly #toolKey: string | undefined;
  readonly #active: CheckedCall;
  #controller: AbortController | undefined;
  #aborted: Error | undefined;
  /** Set once the attempt is over: later output of the body no longer belongs to it. */
  over = false;
  declare onProgress: (() => void) | undefined;
  declare partial: JsonObject | undefined;
  declare chargedMicros: number | undefined;
  /** In clear, because a secret may be spread over several lines. */
  declare lines: readonly LogLine[];
  /** In clear. */
  declare targets: readonly string[];
  declare attachments: readonly NamedAttachment[];

  static {
    const unset: Partial<BodyContext> = { lines: nothing, targets: nothing, attachments: nothing };
    Object.assign(this.prototype, unset);
  }

  constructor(active: CheckedCall, attempt: number, toolKey: string | undefined) {
    this.#active = active;
    this.attempt = attempt;
    this.#toolKey = toolKey;
  }

  get callId(): string {
    return this.#active.request.id;
  }
  get sessionId(): string {
    return this.#active.turn.sessionId;
  }
  get turnId(): string {
    return this.#active.turn.turnId;
  }
  get toolName(): string {
    return this.#active.request.name;
  }
  get principal(): Principal | undefined {
    return this.#active.facts.principal;
  }

  get traceparent(): string | undefined {
    return this.#active.journal.observer?.attemptTraceparent ?? traceparentOf(this.#active);
  }

  get approved(): PreviewedOperation | undefined {
    return operationFor(this.#active, true);
  }
  get previewed(): PreviewedOperation | undefined {
    return operationFor(this.#active, false);
  }

  /** Derived from the call's identity, unless the tool made a key. No two calls share it. */
  get idempotencyKey(): string {
    return this.#toolKey ?? `${encodeURIComponent(this.sessionId)}/${encodeURIComponent(this.callId)}`;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted);
    }
    return this.#controller.signal;
  }

  abort(reason: Error): void {
    this.#aborted = reason;
    this.#controller?.abort(reason);
  }

  get log(): ToolContext['log'] {
    return (message, fields) => {
      if (this.over || this.lines.length >= mostLogLines) return;
      const kept = toJson(fields ?? null);
      const line = {
        message: String(message),
        ...(kept.ok && isJsonObject(kept.value) && { fields: kept.value }),
      };
      cleanObject(this.#active, line); // The result may repeat the secrets that this finds.
      this.lines = [...this.lines, { at: this.#active.engine.ledger.now(), ...line }];
    };
  }

  get progress(): ToolContext['progress'] {
    return (update) => {
      if (this.over) return;
      this.onProgress?.();
      const { message, fraction } = update ?? {};
      try {
        this.#active.options.onProgress?.({
          callId: this.callId,
          ...(message !== undefined && { message: cutText(this.#clean(message), longestLine) }),
          ...(fraction !== undefined && { fraction }),
        });
      } catch {
        // A listener that throws must not fail the tool.
      }
    };
  }

  get record(): ToolContext['record'] {
    return (partial) => {
      const kept = toJson(partial);
      if (this.over || !kept.ok || !isJsonObject(kept.value)) return;
      this.partial = cleanObject(this.#active, { ...this.partial, ...kept.value });
    };
  }

  get reached(): ToolContext['reached'] {
    return (target) => {
      if (!this.over && this.targets.length < mostTargets) this.targets = [...this.targets, String(target)];
    };
  }

  get charge(): ToolContext['charge'] {
    return (micros) => {
      if (!Number.isSafeInteger(micros) || micros < 0)
        throw new QuittanceError(
          'config.invalid',
          `context.charge takes whole micro-units of at least 0, found ${String(micros)}.`,
        );
      if (!this.over) this.chargedMicros = (this.chargedMicros ?? 0) + micros;
    };
  }

  get attach(): ToolContext['attach'] {
    return (attachment) => {
      const { mimeType, content } = attachment;
      if (typeof mimeType !== 'string' || !(typeof content === 'string' || content instanceof Uint8Array))
        throw new QuittanceError(
          'config.invalid',
          'context.attach takes {mimeType, content}, content being text or a Uint8Array.',
        );
      if (this.attachments.length >= mostAttachments)
        throw new QuittanceError(
          'config.invalid',
          `One attempt may attach at most ${mostAttachments} files.`,
        );
      const artifactId = this.#active.engine.ids.secret('art');
      const file: NamedAttachment = {
        artifactId,
        mimeType: cutText(this.#clean(mimeType), longestLine),
        // A body may reuse its buffer.
        content: typeof content === 'string' ? content : Uint8Array.from(content),
        ...(attachment.name !== undefined && { name: this.#clean(attachment.name) }),
      };
      if (!this.over) this.attachments = [...this.attachments, file];
      return { $artifact: artifactId };
    };
  }

  /** Text that rules will judge is cut only after that: half a secret would not be recognized. */
  #clean(text: unknown): string {
    const kept = clean(this.#active, String(text));
    return this.#active.policy === undefined ? cutText(kept, longestLine) : kept;
  }
}

export type NamedAttachment = Attachment & { readonly artifactId: string };
