/**
 * The call of the process that makes it. A call with all fields would be the largest object of the hot path, so this one
 * holds what happens to every call. Facts of the request stay in its event. Fields that few calls have are on the
 * prototype until they are set.
 *
 * A copy by `...` lacks what is not its own: `foldCall` makes a plain call.
 */
import type { JsonObject, JsonValue } from '../base/json.ts';
import type { ToolMode, ToolModeOrigin } from '../tool/mode.ts';
import type { Principal } from '../tool/tool-context.ts';
import type { Call } from './call.ts';
import type { Provenance, ToolRequested } from './event.ts';
import type { CallDraft } from './evolve.ts';
import type { Identity } from './identity.ts';

const none: readonly never[] = Object.freeze([]);

export class OwnCall implements CallDraft {
  readonly #requested: ToolRequested;
  lastEventId: string;
  status: Call['status'] = 'requested';
  inputDigest: string | undefined = undefined;
  inputForm: Call['inputForm'] = undefined;
  ruling: Call['ruling'] = undefined;
  attempt = 0;
  attemptsWithoutEnd = 0;
  started: Call['started'] = undefined;
  settled: Call['settled'] = undefined;

  declare hidden: readonly string[];
  declare effectiveInput: JsonObject | undefined;
  declare acceptedInput: JsonObject | undefined;
  declare artifacts: Call['artifacts'];
  declare wasCoerced: boolean;
  declare wasEdited: boolean;
  declare policyVersion: string | undefined;
  declare decidedBy: Call['decidedBy'];
  declare copiedFrom: string | undefined;
  declare takeovers: number;
  declare takenOverAt: number | undefined;
  declare failed: Call['failed'];
  declare retry: Call['retry'];
  declare spentMicros: number;
  declare confirmation: Call['confirmation'];
  declare preview: Call['preview'];
  declare grantId: string | undefined;
  declare handedTo: Call['handedTo'];
  declare undone: Call['undone'];
  declare late: Call['late'];
  declare resolution: Call['resolution'];
  declare recalls: number;

  static {
    const unchanged: Partial<CallDraft> = {
      hidden: none,
      effectiveInput: undefined,
      acceptedInput: undefined,
      artifacts: none,
      wasCoerced: false,
      wasEdited: false,
      policyVersion: undefined,
      decidedBy: undefined,
      copiedFrom: undefined,
      takeovers: 0,
      takenOverAt: undefined,
      failed: undefined,
      retry: undefined,
      spentMicros: 0,
      confirmation: undefined,
      preview: undefined,
      grantId: undefined,
      handedTo: undefined,
      undone: undefined,
      late: none,
      resolution: undefined,
      recalls: 0,
    };
    Object.assign(this.prototype, unchanged);
  }

  constructor(requested: ToolRequested) {
    this.#requested = requested;
    this.lastEventId = requested.id;
    if (requested.hidden.length > 0) this.hidden = requested.hidden;
  }

  get sessionId(): string {
    return this.#requested.sessionId;
  }
  get turnId(): string {
    return this.#requested.turnId;
  }
  get callId(): string {
    return this.#requested.callId;
  }
  get toolName(): string {
    return this.#requested.toolName;
  }
  get displayName(): string {
    return this.#requested.displayName;
  }
  get mode(): ToolMode {
    return this.#requested.mode;
  }
  get modeOrigin(): ToolModeOrigin {
    return this.#requested.modeOrigin;
  }
  get requestedInput(): JsonValue {
    return this.#requested.requestedInput;
  }
  get requestDigest(): string {
    return this.#requested.requestDigest;
  }
  get principal(): Principal | undefined {
    return this.#requested.principal;
  }
  get provenance(): Provenance | undefined {
    return this.#requested.provenance;
  }
  get attrs(): JsonObject | undefined {
    return this.#requested.attrs;
  }
  get askedBy(): Identity | undefined {
    return this.#requested.askedBy;
  }
  get separateDuties(): boolean {
    return this.#requested.separateDuties ?? false;
  }
  get hiddenIds(): Call['hiddenIds'] {
    return this.#requested.hiddenIds ?? none;
  }
  get traceparent(): string | undefined {
    return this.#requested.traceparent;
  }
  get submitted(): boolean {
    return this.#requested.submitted;
  }
  get requestedAt(): number {
    return this.#requested.at;
  }
}
