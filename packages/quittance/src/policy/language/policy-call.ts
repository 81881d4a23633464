/** The facts about a call that rules may read. */
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { Principal } from '../../tool/tool-context.ts';
import type { ToolMode } from '../../tool/mode.ts';
import type { ToolRisk } from '../../tool/name-words.ts';
import type { ToolResources } from '../../tool/tool-resources.ts';
import type { FoundTexts } from './found-kinds.ts';
import type { SessionCounters } from './session-metric.ts';

export type PolicyCall = {
  readonly toolName: string;
  /** The arguments as the body would receive them. */
  readonly input: JsonObject;
  readonly principal: Principal | undefined;
  readonly metadata: JsonObject | undefined;
  /** The preview of the tool's effect, if it gave one. */
  readonly snapshot: JsonObject | undefined;
  /** Arguments that name paths, commands and URLs, if the tool declares them; guessed otherwise. */
  readonly resources: ToolResources | undefined;
  /** Mode and risk of the tool, as recorded with the call; by its name if the host does not say. */
  readonly mode?: ToolMode | undefined;
  readonly risk?: ToolRisk | undefined;
  /** Its tool runs in the sandboxed executor, which enforces paths and hosts of sandbox rules in the kernel. */
  readonly confined?: boolean | undefined;
};

/** What rules need from the host. Everything else about evaluation is pure. */
export type PolicyWorld = {
  /** `production` unless the host sets it. */
  readonly environment: string;
  /** A variable of the process environment, as text. */
  readonly env: (name: string) => string | undefined;
  /** The path with every link of its longest existing ancestor resolved; the path itself if it does not exist. */
  readonly realPath: (absolutePath: string) => string;
  /** Base of relative paths, and the meaning of `~`. Undefined if the host does not set it. */
  readonly workingDirectory: string | undefined;
  readonly homeDirectory: string | undefined;
  /** The resources a call names, for `found.…`. The compiled policy sets it. */
  readonly found?: ((call: PolicyCall) => FoundTexts) | undefined;
  /** The counters of a call's session, for `session.…`. The compiled policy sets it. */
  readonly counted?: ((call: PolicyCall) => SessionCounters | undefined) | undefined;
  /** Resolvers for selectors whose first word the host registered. */
  readonly selectors: Readonly<Record<string, HostSelector>>;
  readonly operators: Readonly<Record<string, HostOperator>>;
};

/** Returns the value at the path below the registered word, or undefined. */
export type HostSelector = (path: readonly string[], call: PolicyCall) => JsonValue | undefined;

/** Returns true or false; throwing is a policy error, which makes the rule fire. */
export type HostOperator = (field: JsonValue, operand: JsonValue) => boolean;
