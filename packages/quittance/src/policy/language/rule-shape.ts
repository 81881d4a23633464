/** The fields of each kind of object in a ruleset. One table, used by the loader and by the schema of documents. */
import type { Rule } from './ruleset.ts';

/** The public language, and its superset with our additions. */
export const apiVersions = ['edictum/v1', 'quittance/v1'] as const;
export type ApiVersion = (typeof apiVersions)[number];

export type ObjectShape = {
  readonly required: readonly string[];
  readonly optional: readonly string[];
  /** Only `quittance/v1` has these. */
  readonly added?: readonly string[];
  /** `edictum/v1` requires these; in `quittance/v1` they are optional. */
  readonly relaxed?: readonly string[];
};

/** Every key, in any version of the language. */
export const keysOf = ({ required, optional, added = [], relaxed = [] }: ObjectShape): readonly string[] => [
  ...required,
  ...relaxed,
  ...optional,
  ...added,
];

export const rulesetShape: ObjectShape = {
  required: ['apiVersion', 'kind', 'metadata', 'defaults'],
  // `rules` is required too, unless `extends` is given.
  optional: ['rules', 'tools', 'observability', 'observe_alongside', 'extends'],
};
export const metadataShape: ObjectShape = { required: ['name'], optional: ['description'] };
export const defaultsShape: ObjectShape = { required: ['mode'], optional: [], added: ['unlisted_tools'] };
export const toolFactsShape: ObjectShape = {
  required: [],
  relaxed: ['side_effect'],
  optional: ['idempotent'],
};
export const limitsShape: ObjectShape = {
  required: [],
  optional: ['max_tool_calls', 'max_attempts', 'max_calls_per_tool'],
  added: [
    'max_failures',
    'max_consecutive_failures',
    'max_failures_per_tool',
    'max_consecutive_failures_per_tool',
  ],
};
export const allowsShape: ObjectShape = { required: [], optional: ['commands', 'domains'] };
export const notAllowsShape: ObjectShape = { required: ['domains'], optional: [] };

const conditionRule: ObjectShape = {
  required: ['id', 'type', 'tool', 'when', 'then'],
  optional: ['enabled', 'mode'],
};

export const ruleShapes: { readonly [Type in Rule['type']]: ObjectShape } = {
  // Without `when` a pre rule applies to every call of its tools.
  pre: { required: ['id', 'type', 'tool', 'then'], relaxed: ['when'], optional: ['enabled', 'mode'] },
  post: conditionRule,
  session: { required: ['id', 'type', 'limits', 'then'], optional: ['enabled', 'mode'] },
  sandbox: {
    required: ['id', 'type', 'message'],
    // In addition: one of tool and tools, and at least one of within and allows.
    optional: [
      'tool',
      'tools',
      'within',
      'not_within',
      'allows',
      'not_allows',
      'outside',
      'timeout',
      'timeout_effect',
      'enabled',
      'mode',
    ],
    added: ['chains', 'approval'],
  },
};

const plainThen: ObjectShape = { required: ['action', 'message'], optional: ['tags', 'metadata'] };

export const thenShapes: { readonly [Type in 'pre' | 'post' | 'session']: ObjectShape } = {
  pre: {
    required: ['action', 'message'],
    optional: ['tags', 'metadata', 'timeout', 'timeout_effect'],
    added: ['approval'],
  },
  post: plainThen,
  session: plainThen,
};

/** Who may approve: an addition of `quittance/v1`. */
export const approverKeys = ['roles', 'groups', 'people'] as const;
export const seatShape: ObjectShape = { required: [], optional: [...approverKeys, 'quorum', 'escalate'] };
export const escalationShape: ObjectShape = { required: ['after'], optional: approverKeys };
export const approvalShape: ObjectShape = {
  required: [],
  // One seat, or `all_of` with several.
  optional: [...seatShape.optional, 'all_of', 'same_person', 'exclude', 'denials', 'delegation', 'reminders'],
};
export const exclusions = ['asker', 'session_owner'] as const;
export const delegationWords = ['none', 'once', 'chain'] as const;
export const mostApprovers = 100;
export const mostSeats = 20;

export const ruleTypes: readonly Rule['type'][] = ['pre', 'post', 'session', 'sandbox'];

/** The allowed actions of each rule type; for a sandbox rule, the values of `outside`. */
export const actionsOf: {
  readonly pre: readonly ['block', 'ask'];
  readonly post: readonly ['warn', 'redact', 'block'];
  readonly session: readonly ['block'];
  readonly sandbox: readonly ['block', 'ask'];
} = {
  pre: ['block', 'ask'],
  post: ['warn', 'redact', 'block'],
  session: ['block'],
  sandbox: ['block', 'ask'],
};

export const ruleModes = ['enforce', 'observe'] as const;
/** The effect on calls of tools that the documents do not name. */
export const unlistedEffects = ['allow', 'block'] as const;
/** Is a chain of commands outside as a whole, or judged command by command? */
export const chainWords = ['refuse', 'judge'] as const;
export const sideEffects = ['pure', 'read', 'write', 'irreversible'] as const;
export const timeoutEffects = ['block', 'allow'] as const;

export const namePattern: RegExp = /^[a-z0-9][a-z0-9._-]*$/;
export const ruleIdPattern: RegExp = /^[a-z0-9][a-z0-9_-]*$/;
export const longestMessage = 500;
/** About thirty years, in seconds. A longer timeout is a mistake, and its date would overflow calendars. */
export const longestTimeout = 1_000_000_000;
export const defaultTimeout = 300;

/** Spellings of earlier versions of the language, accepted in place of the new ones. */
export const olderKeys: Readonly<Record<string, string>> = {
  contracts: 'rules',
  effect: 'action',
  timeout_action: 'timeout_effect',
};
export const olderActions: { readonly deny: 'block'; readonly approve: 'ask' } = {
  deny: 'block',
  approve: 'ask',
};
export const olderTimeoutEffects: { readonly deny: 'block' } = { deny: 'block' };
