import { describe, expect, it } from 'vitest';
import type { JsonValue } from './json.ts';
import { createRedactor } from './redaction.ts';

const redactor = createRedactor();
/** Not recognisable as a secret by its form. */
const secret = 'correcthorsebattery';

const kept = (input: JsonValue): string => JSON.stringify(redactor.input(input).value);
const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Places where people and programs put secrets, by shape. */
const shapes: Readonly<Record<string, readonly JsonValue[]>> = {
  'rows of names and values': [
    { headers: [['Authorization', secret]] },
    { pairs: [['Authorization', secret]] },
    [[['client_secret', secret]]],
    {
      headers: [
        ['X-Api-Key', secret],
        ['accept', 'x'],
      ],
    },
    { env: [{ name: 'DB_PASSWORD', value: secret }] },
    { vars: [{ key: 'api_key', value: secret }] },
    { list: [{ header: 'Cookie', value: secret }] },
    { Tags: [{ Name: 'client_secret', Value: secret }] },
    { rows: [{ field: 'password', operator: 'eq', value: secret }] },
    { headers: [{ name: 'X-Auth-Token', values: [secret, 'x'] }] },
    { patch: [{ op: 'replace', path: '/user/password', value: secret }] },
    { selector: '#password', text: secret },
    { element: 'Password field', text: secret },
    { label: 'API key', value: secret },
    { rawHeaders: ['Host', 'x', 'X-Api-Key', secret] },
    { headers: [`X-Api-Key: ${secret}`] },
    { Env: [`A=B`, `DB_PASS=${secret}`, `MY_TOKEN=${secret} with; more, words`] },
    { log: { entries: [{ request: { headers: [{ name: 'authorization', value: secret }] } }] } },
    { auth: { user: 'bob', pass: secret } },
    { auth: `bob:${secret}` },
    { ｐａｓｓｗｏｒｄ: secret },
    { ａｐｉ_key: secret },
    { body: `{"p\\u0061ssword":"${secret}"}` },
    { auth: ['bob', secret] },
  ],
  'names in any dress': [
    ...'apiKey API_KEY x-api-key clientSecret client_secret passwd pwd passphrase private_key authToken'.split(
      ' ',
    ),
    ...'refresh_token sessionToken credential credentials Passwort contraseña 密码 auth_key SUBSCRIPTION-KEY'.split(
      ' ',
    ),
  ].map((name) => ({ [name]: secret })),
  'lists of arguments': [
    ['curl', '-u', `bob:${secret}`, 'https://x'],
    ['curl', `-ubob:${secret}`, 'https://x'],
    ['curl', '--user', `bob:${secret}`],
    ['curl', `--user=bob:${secret}`],
    ['curl', '-H', `X-Api-Key: ${secret}`],
    ['curl', `-HX-Api-Key: ${secret}`],
    ['curl', '-b', `sid=${secret}`],
    ['/usr/bin/mysql', '-uroot', `-p${secret}`],
    ['sudo', 'mysqldump', `-p${secret}`, 'db'],
    ['x', '--password', secret],
    ['x', `--password=${secret}`],
    ['x', '--db-password', secret],
    ['sshpass', '-p', secret, 'ssh', 'host'],
    ['redis-cli', '-a', secret],
    ['docker', 'login', '-u', 'bob', '-p', secret],
    ['docker', 'run', '-e', `DB_PASSWORD=${secret}`, 'image'],
    ['kubectl', 'create', 'secret', 'generic', 'x', `--from-literal=password=${secret}`],
    ['aws', 'configure', 'set', 'aws_secret_access_key', secret],
    ['plink', '-pw', secret, 'host'],
    ['keytool', '-storepass', secret],
    ['openssl', 'enc', '-pass', `pass:${secret}`],
    ['bash', '-c', `mysql -p${secret} db`],
  ].flatMap((argv) => [{ argv }, { command: argv[0] as string, args: argv.slice(1) }]),
  'command lines': [
    `curl -u bob:${secret} https://x`,
    `curl --user 'bob:${secret}' https://x`,
    `curl -H "Authorization: ${secret}" https://x`,
    `curl -H 'X-Api-Key: ${secret}' https://x`,
    `curl --cookie "sid=${secret}" https://x`,
    `mysql -uroot -p${secret} db`,
    `mysql -uroot -p'${secret}' db`,
    `PGPASSWORD=${secret} psql -h db`,
    `PGPASSWORD='${secret}' psql -h db`,
    `export X_TOKEN=${secret}; run`,
    `x --password ${secret} --user bob`,
    `x --password="${secret}" --user bob`,
    `sshpass -p ${secret} ssh bob@host`,
    `bash -c "mysql -p${secret} db"`,
    `cd /x && docker login -u bob -p ${secret} registry`,
    `echo ${secret} | docker login --password-stdin`,
    `echo '${secret}' | sudo -S ls`,
    `redis-cli -a ${secret} ping`,
  ].map((command) => ({ command })),
  texts: [
    `https://bob:${secret}@host/x`,
    `Server=db;User Id=sa;Password=${secret};Port=1`,
    `DefaultEndpointsProtocol=https;AccountKey=${secret};x=y`,
    `https://x/?access_token=${secret}&y=1`,
    `https://x/?a=1&sig=${secret}&y=1`,
    `https://x/?X-Amz-Signature=${secret}&y=1`,
    `https://x/?X-Amz-Credential=${secret}&y=1`,
    `Set-Cookie: sid=${secret}; HttpOnly`,
    `Cookie: a=b; sid=${secret}`,
    `<login><password>${secret}</password></login>`,
    `<ns:apiKey type="x">${secret}</ns:apiKey>`,
    `<password><![CDATA[${secret}]]></password>`,
    `<db password="${secret}" user="x"/>`,
    `<add key="ApiKey" value="${secret}" />`,
    `<property name="db.password">${secret}</property>`,
    JSON.stringify({ password: secret }),
    JSON.stringify({ a: JSON.stringify({ password: secret }) }),
    JSON.stringify({ a: JSON.stringify({ b: JSON.stringify({ apiKey: secret }) }) }),
    `config: ${JSON.stringify({ a: JSON.stringify({ password: secret }) })} end`,
    `config: ${JSON.stringify(JSON.stringify({ a: JSON.stringify({ password: secret }) }))} end`,
    `db:\n  user: bob\n  password: ${secret}\n  port: 1\n`,
    `db:\n  password: "${secret}"\n`,
    `[db]\nuser = bob\npassword = ${secret}\n`,
    `USER=bob\nDB_PASS=${secret}\nX=1\n`,
    `//registry.example/:_authToken=${secret}`,
    `machine example.org login bob password ${secret}`,
    `a=1&user%5Bpassword%5D=${secret}&b=2`,
    `user[password]=${secret}`,
    `ALTER USER bob WITH PASSWORD '${secret}';`,
    `Content-Disposition: form-data; name="api_key"\r\n\r\n${secret}\r\n--b--`,
    `Authorization: Basic ${base64(`bob:${secret}`)}`,
  ],
};

describe('a secret is hidden in an input', () => {
  for (const [shape, inputs] of Object.entries(shapes))
    it.each(inputs.map((input) => [JSON.stringify(input), input] as const))(`as ${shape}: %s`, (_, input) => {
      const wrapped = typeof input === 'string' ? { text: input } : input;
      const { value, hidden, secrets } = redactor.input(wrapped);
      expect(JSON.stringify(value)).not.toContain(secret);
      expect(JSON.stringify(value)).not.toContain(base64(secret).slice(3, 20));
      expect(hidden.length).toBeGreaterThan(0);
      // It is known by its value from then on, so its echoes are hidden too.
      expect(secrets.some((found) => found.includes(secret))).toBe(true);
      expect(redactor.input(value).value).toBe(value);
      expect(
        JSON.stringify(redactor.input({ ...(wrapped as object), note: `see ${secret}` }).value),
      ).not.toContain(secret);
    });

  it.each([
    `api_key = "=${secret}"`,
    `api_key = "*${secret}"`,
    `api_key = "q.${secret}"`,
    `x: 1\npassword: q.${secret}7\ny: 2\n`,
    `user_password_ = "${secret}"`,
  ])('although it begins like code: %s', (text) => {
    expect(kept({ text })).not.toContain(secret);
  });

  it('a secret is hidden in an input and the rest stays readable', () => {
    expect(kept({ command: `curl -s -u bob:${secret} -X POST https://x/y` })).toBe(
      '{"command":"curl -s -u bob:[REDACTED] -X POST https://x/y"}',
    );
    expect(kept({ args: ['--user', 'bob', '--password', secret, '--force'] })).toBe(
      '{"args":["--user","bob","--password","[REDACTED]","--force"]}',
    );
    expect(
      kept({
        env: [
          { name: 'A', value: 'b' },
          { name: 'TOKEN', value: secret },
        ],
      }),
    ).toBe('{"env":[{"name":"A","value":"b"},{"name":"TOKEN","value":"[REDACTED]"}]}');
    expect(kept({ config: JSON.stringify({ user: 'bob', password: secret }) })).toBe(
      JSON.stringify({ config: '{"user":"bob","password":"[REDACTED]"}' }),
    );
  });
});

/** Values that look like a secret at first sight but are not. */
const harmless: readonly JsonValue[] = [
  { next_page_token: 'CAUQAA', max_tokens: 1_000, token_count: 5, tokens: 12, token_type: 'bearer' },
  { password_policy: 'strict', secretary: 'Ada Lovelace', author: 'Grace Hopper', keyboard: 'qwertyuiop' },
  {
    sort_key: 'created_at',
    partition_key: 'tenant_id',
    primary_key: 'id',
    key: 'value1234',
    keys: ['a', 'b'],
  },
  { sha: '3f786850e387550fdab836ed7e6dc881de23001b', id: '0f8fad5b-d9cb-469f-a165-70867728950e' },
  {
    digest: 'sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    order: 'ORD-2026-000123',
  },
  { etag: '"33a64df551425fcc55e4d42a148795d9f25f89d4"', md5: 'd41d8cd98f00b204e9800998ecf8427e' },
  { columns: ['password', 'email'], select: ['token', 'created_at', 'name'] },
  { env: { PWD: '/work/project/app', HOME: '/home/bob' }, path: '/work/project/app/src' },
  { env: ['PATH=/usr/bin', 'NODE_ENV=production'], headers: ['Accept: text/html'] },
  {
    filters: [
      { name: 'status', value: 'active1234' },
      { key: 'max_tokens', value: 4096 },
    ],
  },
  { name: 'reset_password', content: 'Dear customer, click here.' },
  { command: 'docker run -p 8080:80 -u 1000:1000 -e NODE_ENV=production image:tag' },
  { command: 'mkdir -p build && cp -pR a b && nmap -p80 host && ps -p 1234 && find . -print' },
  { command: 'curl -u "$USER:$TOKEN" -H "Authorization: Bearer $TOKEN" https://x', cwd: '/work' },
  { command: 'git commit -m "Add the password field" && git push -u origin main' },
  { command: 'grep -rn password src --include=*.ts | head -20', args: ['-rn', 'password', 'src'] },
  { command: 'mysql -u root -p mydatabase < dump.sql' },
  { argv: ['docker', 'run', '-p', '8080:80', '-u', '1000:1000', 'nginx:latest'] },
  { argv: ['npm', 'run', 'test', '--', '--reporter=dot', '-u'] },
  { argv: ['tar', '-xzf', 'archive.tgz', '--strip-components=1'] },
  { text: 'The secretary reset the password policy; tokens are counted per page.' },
  { text: 'const token = await getToken(); if (password === "") return; apiKey: process.env.API_KEY' },
  { text: 'SELECT password, token FROM users WHERE key = ?' },
  { text: '<label for="password">Password</label><input type="password" name="password">' },
  { text: 'https://x/?page_token=CAUQAA&sort_key=name&key=name&code=US&signature_version=4' },
  { text: 'curl is a tool; mysql -p asks for a password; use curl -u user:password to log in' },
  { url: 'https://x', credentials: 'same-origin', mode: 'same-origin' },
  { pass: true, total: 12, pass_rate: 0.5, passed: ['one_test_name'] },
  { user: 'bob', authority: 'https://login.example.org', authorized: true, credentialed: 'no' },
  {
    text: '-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIU\n-----END CERTIFICATE-----',
    lines: ['PRIVATE', 'x'],
  },
  {
    jwk: { kty: 'EC', x: 'aB3dE5gH7jK9mN1pQ2sT', y: 'aB3dE5gH7jK9mN1pQ2sT' },
    bytes: Array<number>(64).fill(65),
  },
  { url: 'https://x/search?q=caf%C3%A9%20token&page_token=CAUQAA%3D%3D', path: '/a%20b/c%2Fd' },
  { text: 'A key file ends with -----END RSA PRIVATE KEY----- and a line break.' },
  { cursor: 'eyJpZCI6MTIzfQ==', page: 'bmV4dC1wYWdl', call: 'call_Qm9iQm9iQm9iQm9iQm9iQm9i' },
];

describe('a value that is not a secret', () => {
  it.each(harmless.map((input) => [JSON.stringify(input), input] as const))('is kept: %s', (_, input) => {
    expect(redactor.input(input).value).toEqual(input);
    expect(redactor.output(input).value).toBe(input);
  });

  it('is kept in outputs under any name, and in any row', () => {
    for (const output of [
      { password: 'none set', token: 'abcdefgh' },
      [['Authorization', 'required']],
      { name: 'token', value: 'abcdefgh' },
      ['--password', 'abcdefgh'],
    ])
      expect(redactor.output(output).value).toBe(output);
  });
});

describe('JSON inside a text', () => {
  const nest = (levels: number): string =>
    `${'{"a":'.repeat(levels)}{"password":"${secret}"}${'}'.repeat(levels)}`;

  it.each([10, 600, 100_000])('nested %i levels deep hides its secrets', (levels) => {
    expect(kept({ body: nest(levels) })).not.toContain(secret);
    expect(kept({ password: nest(levels), body: 'x' })).not.toContain(secret);
  });

  it('JSON inside a text that is too deep for a walk is hidden as a whole; other text with many brackets is not', () => {
    expect(kept({ body: nest(600) })).toBe('{"body":"[REDACTED]"}');
    expect(redactor.input({ body: nest(600) }).hidden).toEqual(['$.body']);
    const brackets = '['.repeat(2_000);
    expect(kept({ body: brackets })).toBe(JSON.stringify({ body: brackets }));
  });
});
