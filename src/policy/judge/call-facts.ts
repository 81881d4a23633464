import type { FoundTexts } from '../language/found-kinds.ts';
import { toFoundTexts } from '../sandbox/found-texts.ts';
import type { PolicyCall, PolicyWorld } from '../language/policy-call.ts';
import type { FoundResources } from '../sandbox/found-resources.ts';
import { findResources } from '../sandbox/resources.ts';
import type { SessionCounters } from '../language/session-metric.ts';

/**
 * The facts that rules judge: the call, the session's counters, and the resources the call names, found on first use.
 */
export class CallFacts {
  readonly call: PolicyCall;
  readonly counters: SessionCounters | undefined;
  readonly #world: PolicyWorld;
  #looking: PolicyWorld | undefined;
  #found: FoundResources | undefined;
  #texts: FoundTexts | undefined;

  constructor(call: PolicyCall, counters: SessionCounters | undefined, world: PolicyWorld) {
    this.call = call;
    this.counters = counters;
    this.#world = world;
  }

  resources(): FoundResources {
    return (this.#found ??= findResources(this.call, this.world()));
  }

  /** The resources as texts, for conditions. */
  texts(): FoundTexts {
    return (this.#texts ??= toFoundTexts(this.call, this.resources(), this.world()));
  }

  /** A real path is looked up once for all rules of a call, and never kept for another call. */
  world(): PolicyWorld {
    return (this.#looking ??= rememberPaths(this.#world));
  }
}

function rememberPaths(world: PolicyWorld): PolicyWorld {
  const known = new Map<string, string>();
  return {
    ...world,
    realPath: (path) => {
      const before = known.get(path);
      if (before !== undefined) return before;
      const real = world.realPath(path);
      known.set(path, real);
      return real;
    },
  };
}
