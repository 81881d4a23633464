/**
 * Names of tools and prompts in front of the gateway. The prefix is the key in the configuration, never what a server
 * calls itself, so a server cannot take the name of another one's tool. A single server keeps its names.
 */
import { QuittanceError } from 'quittance/internal/base/error';

const separator = '__';
/** Clients put `mcp__<name of the gateway>__` in front and drop longer names. */
export const longestName = 128;

export class ServerNames {
  readonly #prefixes: ReadonlyMap<string, string>;

  constructor(servers: readonly string[]) {
    const plain = (name: string): string => name.replaceAll(/[^\w-]+/g, '_');
    this.#prefixes = new Map(
      servers.map((name) => [name, servers.length === 1 ? '' : `${plain(name)}${separator}`]),
    );
    const taken = new Map<string, string>();
    for (const [name, prefix] of this.#prefixes) {
      const other = taken.get(prefix);
      // One prefix may not start another: "a" and "a__b" could both own "a__b__c".
      const clash = other ?? servers.find((each) => each !== name && prefix.startsWith(this.prefixOf(each)));
      if (servers.length > 1 && clash !== undefined)
        throw new QuittanceError(
          'config.invalid',
          `The servers "${clash}" and "${name}" would give their tools the same names. Rename one of them in the configuration.`,
        );
      taken.set(prefix, name);
    }
  }

  /** Comes before the names of the server's tools. */
  prefixOf(server: string): string {
    return this.#prefixes.get(server) ?? '';
  }

  /** The name that clients see. Undefined if it is too long for them. */
  toClient(server: string, name: string): string | undefined {
    const shown = `${this.prefixOf(server)}${name}`;
    return shown.length > longestName ? undefined : shown;
  }

  /** The server and its own name for it. Undefined if no server has this prefix. */
  toServer(shown: string): { readonly server: string; readonly name: string } | undefined {
    for (const [server, prefix] of this.#prefixes)
      if (shown.startsWith(prefix)) return { server, name: shown.slice(prefix.length) };
    return undefined;
  }
}
