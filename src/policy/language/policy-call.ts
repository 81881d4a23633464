/** What rules may look at when they judge a call. */
import type { JsonObject, JsonValue } from '../../base/json.ts';
import type { Principal } from '../../tool/tool-context.ts';
import type { ToolResources } from '../../tool/tool-resources.ts';
import type { FoundTexts } from './found-kinds.ts';
import type { SessionCounters } from './session-metric.ts';

export type PolicyCall = {
  readonly toolName: string;
  /** The arguments as the body would get them. */
  readonly input: JsonObject;
  readonly principal: Principal | undefined;
  readonly metadata: JsonObject | undefined;
  /** What the tool's preview would do, where it gave one. */
  readonly snapshot: JsonObject | undefined;
  /** Which arguments name paths, commands and urls, where the tool says so; guessed otherwise. */
  readonly resources: ToolResources | undefined;
};

/** What rules need of the world. Everything else about evaluation is computed. */
export type PolicyWorld = {
  /** `production` where the host says nothing. */
  readonly environment: string;
  /** A variable of the process environment, as text. */
  readonly env: (name: string) => string | undefined;
  /** The path with every link of its longest existing ancestor resolved; the path itself where nothing is there. */
  readonly realPath: (absolutePath: string) => string;
  /**
   * What lies in a folder, for patterns in commands. Undefined where there is no such folder. Without it, patterns in
   * commands are outside.
   */
  readonly listFolder?: ((absolutePath: string) => readonly FolderEntry[] | undefined) | undefined;
  /** What relative paths are relative to, and what `~` stands for. Undefined where the host says nothing. */
  readonly workingDirectory: string | undefined;
  readonly homeDirectory: string | undefined;
  /** What a call names, for `found.…`. The compiled policy sets it. */
  readonly found?: ((call: PolicyCall) => FoundTexts) | undefined;
  /** What the session of a call has counted, for `session.…`. The compiled policy sets it. */
  readonly counted?: ((call: PolicyCall) => SessionCounters | undefined) | undefined;
  /** Values behind selectors that begin with a word the host registered. */
  readonly selectors: Readonly<Record<string, HostSelector>>;
  readonly operators: Readonly<Record<string, HostOperator>>;
};

export type FolderEntry = { readonly name: string; readonly kind: 'file' | 'folder' | 'link' };

/** Gives the value at the path below the registered word, or undefined. */
export type HostSelector = (path: readonly string[], call: PolicyCall) => JsonValue | undefined;

/** True, false; throwing is a policy error, which makes the rule fire. */
export type HostOperator = (field: JsonValue, operand: JsonValue) => boolean;
