/** What a gateway reports about itself and its servers, for people who look from another process. */
import type { JsonObject, JsonValue } from 'quittance/internal/base/json';
import { isJsonObject, readJsonText } from 'quittance/internal/base/json';

/** One server behind a gateway. Its texts hold no secrets. */
export type ServerReport = {
  readonly name: string;
  /** Digest of its address. */
  readonly address: string;
  readonly transport: 'stdio' | 'http' | 'sse';
  /** The command line or the URL. */
  readonly place: string;
  readonly isTrusted: boolean;
  readonly status: ServerStatus;
  readonly era: string | undefined;
  readonly connections: number;
  /** Failures in a row. */
  readonly failures: number;
  readonly restarts: number;
  readonly lastError: string | undefined;
  /** When the gateway may start it again, in milliseconds since 1970. */
  readonly retryAt: number | undefined;
  /** Violations of the protocol. */
  readonly oddities: number;
  /** Comes before the names of its tools in the names of calls. */
  readonly prefix: string;
};

export type ServerStatus = 'idle' | 'starting' | 'ready' | 'failed';

export type GatewayReport = {
  readonly gatewayId: string;
  /** The owner of its calls in the ledger. */
  readonly ownerId: string;
  readonly startedAt: number;
  readonly seenAt: number;
  /** When it stopped properly. */
  readonly endedAt: number | undefined;
  readonly observes: boolean;
  /** Names that connected clients gave themselves. */
  readonly clients: readonly string[];
  readonly servers: readonly ServerReport[];
};

export const writeReports = (reports: readonly GatewayReport[]): string =>
  JSON.stringify({ version: 1, gateways: reports });

/** Reports are help for people, so what cannot be read counts as missing. */
export function parseReports(text: string | undefined): readonly GatewayReport[] {
  if (text === undefined) return [];
  let value: JsonValue;
  try {
    value = readJsonText(text);
  } catch {
    return [];
  }
  return isJsonObject(value) && value['version'] === 1 ? listOf(value['gateways']).flatMap(parseReport) : [];
}

const listOf = (value: JsonValue | undefined): readonly JsonValue[] => (Array.isArray(value) ? value : []);
const textOf = (value: JsonValue | undefined): string | undefined =>
  typeof value === 'string' ? value : undefined;
const numberOf = (value: JsonValue | undefined): number | undefined =>
  typeof value === 'number' ? value : undefined;

function parseReport(report: JsonValue): GatewayReport[] {
  if (!isJsonObject(report)) return [];
  const { gatewayId, ownerId, startedAt, seenAt } = report;
  if (typeof gatewayId !== 'string' || typeof ownerId !== 'string') return [];
  if (typeof startedAt !== 'number' || typeof seenAt !== 'number') return [];
  return [
    {
      gatewayId,
      ownerId,
      startedAt,
      seenAt,
      endedAt: numberOf(report['endedAt']),
      observes: report['observes'] === true,
      clients: listOf(report['clients']).filter((name) => typeof name === 'string'),
      servers: listOf(report['servers']).flatMap((server) =>
        isJsonObject(server) ? parseServer(server) : [],
      ),
    },
  ];
}

function parseServer(server: JsonObject): ServerReport[] {
  const { name, address, transport, status } = server;
  if (typeof name !== 'string' || typeof address !== 'string') return [];
  if (transport !== 'stdio' && transport !== 'http' && transport !== 'sse') return [];
  if (status !== 'idle' && status !== 'starting' && status !== 'ready' && status !== 'failed') return [];
  return [
    {
      name,
      address,
      transport,
      place: textOf(server['place']) ?? '',
      isTrusted: server['isTrusted'] === true,
      status,
      era: textOf(server['era']),
      connections: numberOf(server['connections']) ?? 0,
      failures: numberOf(server['failures']) ?? 0,
      restarts: numberOf(server['restarts']) ?? 0,
      lastError: textOf(server['lastError']),
      retryAt: numberOf(server['retryAt']),
      oddities: numberOf(server['oddities']) ?? 0,
      prefix: textOf(server['prefix']) ?? '',
    },
  ];
}
