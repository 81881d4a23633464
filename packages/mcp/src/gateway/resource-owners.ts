/**
 * The servers that list a resource or a template. It belongs to the first of them in the configuration that the caller
 * may see, so a later server cannot take it over. All clients share this knowledge: a modern client over HTTP is new
 * with every request.
 */
import type { Upstream } from './upstream.ts';

/** More are not remembered. Servers are then asked in order. */
const mostUris = 100_000;
const mostTemplates = 1_000;

export class ResourceOwners {
  readonly #listedBy = new Map<string, Set<Upstream>>();
  /** The fixed beginnings of templates. */
  readonly #beginnings = new Map<string, Set<Upstream>>();
  /** Lists that the gateway has read once to find owners. */
  readonly #read = new Set<string>();

  /** Remembers that a server lists it. Returns whether it belongs to that server among these. */
  claim(uri: string, upstream: Upstream, among: readonly Upstream[]): boolean {
    remember(this.#listedBy, uri, upstream, mostUris);
    const [beginning = '', ...rest] = uri.split('{');
    if (rest.length > 0) remember(this.#beginnings, beginning, upstream, mostTemplates);
    return (this.find(uri, among) ?? upstream) === upstream;
  }

  /** The owner among these servers, which are in the order of the configuration. */
  find(uri: string, among: readonly Upstream[]): Upstream | undefined {
    return firstOf(this.#listedBy.get(uri), among);
  }

  /** The server with the template that begins most like a resource that no server lists. */
  findByTemplate(uri: string, among: readonly Upstream[]): Upstream | undefined {
    let best: { readonly length: number; readonly owner: Upstream } | undefined;
    for (const [beginning, servers] of this.#beginnings) {
      const owner = uri.startsWith(beginning) ? firstOf(servers, among) : undefined;
      if (owner !== undefined && beginning.length > (best?.length ?? 0))
        best = { length: beginning.length, owner };
    }
    return best?.owner;
  }

  /** True the first time that this list is needed to find an owner. */
  mustRead(list: string): boolean {
    return this.#read.size < this.#read.add(list).size;
  }
}

function remember(listedBy: Map<string, Set<Upstream>>, uri: string, upstream: Upstream, most: number): void {
  const servers = listedBy.get(uri);
  if (servers !== undefined) servers.add(upstream);
  else if (listedBy.size < most) listedBy.set(uri, new Set([upstream]));
}

const firstOf = (servers: Set<Upstream> | undefined, among: readonly Upstream[]): Upstream | undefined =>
  servers === undefined ? undefined : among.find((upstream) => servers.has(upstream));
