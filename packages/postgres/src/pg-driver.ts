/**
 * The one file that knows the driver. Everything else sees a connection that runs statements, and errors sorted by what
 * a caller must do about them.
 */
import { createRequire } from 'node:module';
import type { Client, ClientConfig, CustomTypesConfig, Query } from 'pg';
import { QuittanceError } from 'quittance/internal/base/error';

export type PgValue = string | number | boolean | null | Buffer | readonly string[];

export interface PgConnection {
  /** `name`: the server keeps the statement under it and does not read its text again. */
  query<Row>(text: string, values?: readonly PgValue[], name?: string): Promise<readonly Row[]>;
  /** Called once, when the connection ended for any reason. */
  readonly ended: Promise<void>;
  readonly isOpen: boolean;
  /** Is there no pooler in between? A pooler gives its clients process ids of its own. */
  isDirect(): Promise<boolean>;
  onNotification(listener: (channel: string, payload: string) => void): void;
  /** Ends the connection. Statements that still run are cut off. */
  end(): Promise<void>;
}

export type PgSettings = {
  /** Several where one of them is the primary and the others are its standbys. */
  readonly urls: readonly [string, ...string[]];
  readonly applicationName: string;
  readonly connectTimeoutMs: number;
  /** A statement that takes longer is given up and its connection is closed. */
  readonly statementTimeoutMs: number;
};

const int8Oid = 20;
const int4Oid = 23;
const float8Oid = 701;

/** Positions and counts fit a number. Everything else comes as text and is read by the one who asked for it. */
const types: CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: string) => {
    if (format === 'binary') return (value: unknown) => value;
    if (oid === int8Oid || oid === int4Oid || oid === float8Oid) return Number;
    if (oid === boolOid) return (value: string) => value === 't';
    if (oid === byteaOid) return toBytes;
    return (value: string) => value;
  }) as CustomTypesConfig['getTypeParser'], // its overloads differ only in the type of the value
};
const boolOid = 16;
const byteaOid = 17;

/** The database may be set to either of the two forms that bytes have as text (`bytea_output`). */
function toBytes(value: string): Buffer {
  if (value.startsWith('\\x')) return Buffer.from(value.slice(2), 'hex');
  return Buffer.from(
    value.replaceAll(/\\(\\|[0-7]{3})/g, (_, code: string) =>
      code === '\\' ? code : String.fromCodePoint(Number.parseInt(code, 8)),
    ),
    'latin1',
  );
}

/** Connects to the server. Of several, to the one that takes writes: all are asked at once. */
export async function connect(settings: PgSettings): Promise<PgConnection> {
  const { urls } = settings;
  if (urls.length === 1) return connectTo(urls[0], settings);
  const attempts = urls.map((url) => connectToPrimary(url, settings));
  const chosen = await Promise.any(attempts).catch((error: unknown) => {
    throw error instanceof AggregateError ? joinErrors(urls, error.errors) : error;
  });
  for (const attempt of attempts)
    void attempt.then(
      (connection) => (connection === chosen ? undefined : connection.end()),
      () => undefined, // it is not the one
    );
  return chosen;
}

/** Why each of several servers was not taken. The first error gives the code. */
function joinErrors(urls: PgSettings['urls'], errors: readonly unknown[]): Error {
  const said = errors.map(
    (error, index) => `${URL.parse(urls[index] ?? '')?.host}: ${(error as Error).message}`,
  );
  const { code, severity } = errors[0] as { readonly code?: string; readonly severity?: string };
  return Object.assign(new Error(said.join('; '), { cause: errors[0] }), { code, severity });
}

async function connectToPrimary(url: string, settings: PgSettings): Promise<PgConnection> {
  const connection = await connectTo(url, settings);
  try {
    const [row] = await connection.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby');
    if (row?.standby === false) return connection;
  } catch (error) {
    void connection.end();
    throw error;
  }
  void connection.end();
  throw new Error('the server is a standby');
}

async function connectTo(url: string, settings: PgSettings): Promise<PgConnection> {
  const { Client: DriverClient, Query: DriverQuery } = await loadDriver();
  const config: ClientConfig = {
    connectionString: url,
    application_name: settings.applicationName,
    connectionTimeoutMillis: settings.connectTimeoutMs,
    query_timeout: settings.statementTimeoutMs,
    keepAlive: true,
    types,
  };
  const client = new DriverClient(config);
  let isOpen = true;
  const ended = new Promise<void>((resolve) => {
    const note = (): void => {
      isOpen = false;
      resolve();
    };
    client.on('end', note);
    client.on('error', note); // without a listener the process would end
  });
  await client.connect();
  // An idle connection keeps no process alive; a statement that runs does.
  let running = 0;
  const hold = client as unknown as Holdable; // the type declarations lack both methods
  hold.unref();
  const connection: PgConnection = {
    query: <Row>(text: string, values: readonly PgValue[] = [], name?: string) =>
      new Promise<readonly Row[]>((resolve, reject) => {
        const query: CalledQuery = new DriverQuery(text, [...values]);
        query.name = name;
        query.callback = (error, result) => {
          if (--running === 0) hold.unref();
          // The statement names its columns, its caller their types.
          if (error === null || error === undefined) resolve(result?.rows as readonly Row[]);
          else reject(error as Error);
        };
        if (running++ === 0) hold.ref();
        client.query(query);
      }),
    ended,
    get isOpen() {
      return isOpen;
    },
    onNotification(listener) {
      client.on('notification', ({ channel, payload }) => listener(channel, payload ?? ''));
    },
    async isDirect() {
      const [row] = await connection.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
      return row?.pid === (client as unknown as { readonly processID: number | null }).processID; // not declared
    },
    async end() {
      isOpen = false;
      await endClient(client);
    },
  };
  return connection;
}

/** The type declarations lack both members. The driver copies a statement that is not given as a whole. */
type CalledQuery = Query & {
  name?: string | undefined;
  callback?: (error: unknown, result?: { readonly rows: readonly unknown[] }) => void;
};

interface Holdable {
  ref(): void;
  unref(): void;
}

/** A server that does not answer must not keep a process from closing. */
async function endClient(client: Client): Promise<void> {
  const timer = setTimeout(() => streamOf(client)?.destroy(), 2_000);
  try {
    await client.end();
  } catch {
    // It had ended before.
  } finally {
    clearTimeout(timer);
  }
}

/** The driver has no public way to drop a connection whose server is silent. */
const streamOf = (client: Client): { destroy(): void } | undefined =>
  (client as unknown as { connection?: { stream?: { destroy(): void } } }).connection?.stream;

type Driver = { readonly Client: typeof Client; readonly Query: typeof Query };

async function loadDriver(): Promise<Driver> {
  try {
    const driver = (await import('pg')) as unknown as { readonly default: Driver };
    return driver.default;
  } catch (error) {
    throw missingDriver(error);
  }
}

/** Throws if the driver is not installed. Does not load it. */
export function requireDriver(): void {
  try {
    createRequire(import.meta.url).resolve('pg');
  } catch (error) {
    throw missingDriver(error);
  }
}

const missingDriver = (cause: unknown): QuittanceError =>
  new QuittanceError(
    'config.invalid',
    'A PostgreSQL ledger needs the package "pg". Install it in your project: npm install pg.',
    { package: 'pg' },
    cause,
  );

/** The code that PostgreSQL gave; undefined where the connection failed instead. */
export function sqlStateOf(error: unknown): string | undefined {
  const code = (error as { readonly code?: unknown } | undefined)?.code;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && hasSeverity(error) ? code : undefined;
}

const hasSeverity = (error: unknown): boolean =>
  typeof (error as { readonly severity?: unknown }).severity === 'string';

/** Did the server refuse the statement and keep the connection? Then it kept nothing of the statement. */
export const isRefusal = (error: unknown): boolean => {
  const state = sqlStateOf(error);
  return state !== undefined && !state.startsWith('57P') && !state.startsWith('08');
};

/** Serialization failure or deadlock: the server kept nothing of the statement, and it may succeed at once. */
export const isConflict = (error: unknown): boolean => ['40001', '40P01'].includes(sqlStateOf(error) ?? '');

/**
 * Errors after which the same transaction may be run again: serialization, deadlock, a lock or a statement that took too
 * long, and our own.
 */
export const isRetryable = (error: unknown): boolean =>
  isConflict(error) || ['55P03', '57014', orderState].includes(sqlStateOf(error) ?? '');

/** A pooler gave us another connection, which does not have a statement under this name, or has it already. */
export const isOtherConnection = (error: unknown): boolean =>
  ['26000', '42P05'].includes(sqlStateOf(error) ?? '');

/** Raised by the append function where its positions would not come after those of an entry before it. */
export const orderState = 'QT001';
/** Raised by the append function where a session has no head yet, although the client thought so. */
export const newSessionState = 'QT003';
/** Raised where another connection took over for this one. */
export const fencedState = 'QT002';
/** Raised by the append function where a row does not agree with the entries. */
export const damagedState = 'QT004';
/** Raised by the append function where entries have positions that another server gave. */
export const lowState = 'QT005';
/** The transaction or the server is read-only. */
export const readOnlyState = '25006';
