/** Messages of MCP as the gateway relays them: it reads few fields and keeps all others. */
import type { StandardSchemaV1 } from '@modelcontextprotocol/client';

export type Fields = { readonly [name: string]: unknown };

export type RelayedRequest = { readonly method: string; readonly params?: Fields };

/** The protocol before 2026-07-28 has sessions and requests of the server; the later one has neither. */
export type Era = 'legacy' | 'modern';

export const modernVersion = '2026-07-28';
export const legacyVersion = '2025-11-25';

/** Keys of the envelope that requests of the modern protocol carry in `_meta`. */
export const envelopeKeys = {
  version: 'io.modelcontextprotocol/protocolVersion',
  client: 'io.modelcontextprotocol/clientInfo',
  capabilities: 'io.modelcontextprotocol/clientCapabilities',
  logLevel: 'io.modelcontextprotocol/logLevel',
} as const;

/** JSON-RPC codes that the gateway itself answers with. */
export const rpcCodes = {
  invalidRequest: -32_600,
  invalidParams: -32_602,
  methodNotFound: -32_601,
  internal: -32_603,
} as const;

export const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const toFields = (value: unknown): Fields => (isFields(value) ? value : {});

export const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);

export const toFieldsList = (value: unknown): readonly Fields[] =>
  Array.isArray(value) ? value.filter(isFields) : [];

/** Accepts any result: the relay checks only what it uses. */
export const anyResult: StandardSchemaV1<Fields, Fields> = {
  '~standard': {
    version: 1,
    vendor: 'quittance',
    validate: (value) => (isFields(value) ? { value } : { issues: [{ message: 'not an object' }] }),
  },
};
