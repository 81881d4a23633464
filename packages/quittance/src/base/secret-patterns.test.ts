import fc from 'fast-check';
import { beforeAll, describe, expect, test } from 'vitest';
import { cpuMsOf, cpuMsPerRun } from '../../../../test/cpu-time.ts';
import { createTextMask, secretHint, secretPatterns, shortestSecret } from './text-mask.ts';

const mask = createTextMask(true, []);

/** Made up here, so that no scanner mistakes this file for a leak. */
const letters = 'aB3dE5gH7jK9mN1pQ2sT4vW6yZ8bC0fG';
const fake = (length: number): string => letters.repeat(Math.ceil(length / letters.length)).slice(0, length);
const awsId = `AKIA${'IOSFODNN7EXAMPLE'}`;
const awsSecret = `wJalrXUtnFEMI/K7MDENG/${'bPxRfiCYEXAMPLEKEY'}`;
const jwt = `eyJ${fake(20)}.eyJ${fake(30)}.${fake(43)}`;
const pem = (kind: string, body: string): string =>
  `-----BEGIN ${kind}PRIVATE KEY-----${body}-----END ${kind}PRIVATE KEY-----`;

/** By pattern: a text, and its masked form. */
const samples: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  'private key block': [
    [`a ${pem('RSA ', '\nMIIE\nabc=\n')} z`, 'a [REDACTED] z'],
    [`${pem('', '\\nMIIE\\n')}\n${pem('OPENSSH ', '\r\nb3Bl\r\n')}`, '[REDACTED]\n[REDACTED]'],
    [pem('EC ', '\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\nMIIE\n'), '[REDACTED]'],
    ['-----BEGIN PGP PRIVATE KEY BLOCK-----\nlQ\n-----END PGP PRIVATE KEY BLOCK-----.', '[REDACTED].'],
  ],
  'tail of a private key': [
    [
      `x\n${fake(64)}\n${fake(20)}==\n-----END RSA PRIVATE KEY-----`,
      `x\n[REDACTED]-----END RSA PRIVATE KEY-----`,
    ],
    [`it ends with -----END RSA PRIVATE KEY-----`, 'it ends with -----END RSA PRIVATE KEY-----'],
  ],
  'encoded private key': [[`key: ${btoa(pem('RSA ', `\n${fake(64)}\n`))}, x`, 'key: [REDACTED], x']],
  'private key in hexadecimal digits': [
    [`key: ${Buffer.from(pem('', `\n${fake(64)}\n`)).toString('hex')}, x`, 'key: [REDACTED]x'],
  ],
  'private key from its last line': [
    [
      `-----END PRIVATE KEY-----\n${fake(64)}\n-----BEGIN PRIVATE`,
      '-----END PRIVATE KEY-----[REDACTED]-----BEGIN PRIVATE',
    ],
  ],
  'private key from its last letter': [
    [
      `-----YEK ETAVIRP DNE-----\n${fake(64)}\n-----YEK ETAVIRP NIGEB-----`,
      '[REDACTED]-----YEK ETAVIRP NIGEB-----',
    ],
  ],
  'private key in decimal numbers': [
    [`[${[...Buffer.from(pem('', `\n${fake(64)}\n`))].join(',')}]`, '[[REDACTED]]'],
  ],
  'bare private key': [[`a MIIEvQIBADANBgkqhkiG9w0BAQEFAASC${fake(64)} z`, 'a [REDACTED] z']],
  'bare private key in hexadecimal digits': [
    [`a 308204bd020100300d06092a864886f70d010101${'0a'.repeat(40)} z`, 'a [REDACTED] z'],
    [`a 308187020100301306072A8648CE3D0201${'0A'.repeat(40)}, z`, 'a [REDACTED], z'],
    [`a 302e020100300506032b6570${'0a'.repeat(40)}`, 'a [REDACTED]'],
  ],
  'private key in XML': [
    [`<Modulus>AQAB</Modulus><D>${fake(64)}==</D>`, '<Modulus>AQAB</Modulus><D>[REDACTED]</D>'],
    [`<P>${fake(64)}</P><Q>no key here</Q>`, '<P>[REDACTED]</P><Q>no key here</Q>'],
  ],
  'PuTTY key': [
    [`Private-Lines: 2\n${fake(64)}\n${fake(40)}\nPrivate-MAC: 1`, 'Private-Lines: 2[REDACTED]-MAC: 1'],
  ],
  'private JSON web key': [
    [`{"kty":"EC","x":"${fake(43)}","d":"${fake(43)}"}`, `{"kty":"EC","x":"${fake(43)}","d":[REDACTED]}`],
  ],
  'sorted private JSON web key': [[`{"d":"${fake(43)}","kty":"OKP"}`, `{"d":[REDACTED]}`]],
  'AWS access key id': [
    [`id ${awsId}.`, 'id [REDACTED].'],
    [`ASIA${'A'.repeat(16)}`, '[REDACTED]'],
  ],
  'AWS secret access key': [
    [`aws_secret_access_key = ${awsSecret}`, 'aws_secret_access_key = [REDACTED]'],
    [`"SecretAccessKey": "${awsSecret}"`, '"SecretAccessKey": "[REDACTED]"'],
    [`${awsId},${awsSecret}`, '[REDACTED],[REDACTED]'],
  ],
  'GitHub token': [
    [`ghp_${fake(36)}`, '[REDACTED]'],
    [
      `https://x-access-token:gho_${fake(36)}@github.com/a/b`,
      'https://x-access-token:[REDACTED]@github.com/a/b',
    ],
    [`github_pat_${fake(22)}_${fake(59)}, ok`, '[REDACTED], ok'],
  ],
  'GitLab token': [
    [`glpat-${fake(20)}`, '[REDACTED]'],
    [`at glrt-${fake(27)}.01.${fake(9)} now`, 'at [REDACTED] now'],
  ],
  'Slack token': [
    [`xoxb-${'1'.repeat(12)}-${fake(24)}`, '[REDACTED]'],
    [`xapp-1-A0-${fake(12)}`, '[REDACTED]'],
    [`xoxe.xoxp-1-${fake(30)}`, '[REDACTED]'],
  ],
  'Slack webhook': [
    [`https://hooks.slack.com/services/T0/B0/${fake(24)}`, 'https://hooks.slack.com/services/[REDACTED]'],
  ],
  'Stripe key': [
    [`sk_live_${fake(24)}`, '[REDACTED]'],
    [`rk_test_${fake(24)}`, '[REDACTED]'],
    [`whsec_${fake(32)}+/==`, '[REDACTED]'],
  ],
  'sk- API key': [
    [`sk-${fake(48)}`, '[REDACTED]'],
    [`(sk-proj-${fake(40)})`, '([REDACTED])'],
    [`sk-ant-api03-${fake(90)}`, '[REDACTED]'],
  ],
  'Google API key': [[`AIza${fake(35)}`, '[REDACTED]']],
  'Google OAuth secret': [
    [`GOCSPX-${fake(28)}`, '[REDACTED]'],
    [`ya29.${fake(60)}`, '[REDACTED]'],
    [`1//0${fake(60)}`, '[REDACTED]'],
  ],
  'npm token': [[`//registry/:_authToken=npm_${fake(36)}`, '//registry/:_authToken=[REDACTED]']],
  'PyPI token': [[`pypi-${fake(60)}`, '[REDACTED]']],
  'Hugging Face token': [[`hf_${fake(34)}`, '[REDACTED]']],
  'Quittance token': [
    [`as qt_${fake(43)}.`, 'as [REDACTED].'],
    [`qt_-${fake(41)}_`, '[REDACTED]'],
    [`http://127.0.0.1:4747/decide#qdt1.${fake(60)}.${fake(43)}`, 'http://127.0.0.1:4747/decide#[REDACTED]'],
  ],
  'SendGrid key': [[`SG.${fake(22)}.${fake(43)}`, '[REDACTED]']],
  'JSON web token': [
    [`see ${jwt}.`, 'see [REDACTED].'],
    [`eyJ${fake(20)}..${fake(16)}.${fake(40)}.${fake(22)} (encrypted)`, '[REDACTED] (encrypted)'],
  ],
  'authorization header': [
    ['Authorization: Bearer abcdef', 'Authorization: Bearer [REDACTED]'],
    ['-H "authorization: token abc" -v', '-H "authorization: token [REDACTED]" -v'],
    ['{"Authorization":"Basic Zm9v"}', '{"Authorization":"Basic [REDACTED]"}'],
  ],
  'bearer token': [
    ['use Bearer abc123def.', 'use Bearer [REDACTED].'],
    ['bearer abc.def.ghi', 'bearer [REDACTED]'],
    ['BEARER aBcDeFgHiJ==', 'BEARER [REDACTED]'],
  ],
  'basic credentials': [[`Basic ${Buffer.from('user:pass').toString('base64')}`, 'Basic [REDACTED]']],
  'password in a URL': [
    ['postgres://bob:s3cret@db:5432/x', 'postgres://bob:[REDACTED]@db:5432/x'],
    ['redis://:pw@h', 'redis://:[REDACTED]@h'],
    ['amqp://a@b.c:p@ss:w#rd@host', 'amqp://a@b.c:[REDACTED]@host'],
  ],
  'cookie header': [
    ['Set-Cookie: sid=abc; HttpOnly\nok', 'Set-Cookie: [REDACTED]\nok'],
    ['curl -H "Cookie: a=b; c=d" x', 'curl -H "Cookie: [REDACTED]" x'],
  ],
  assignment: [
    ['password=hunter2', 'password=[REDACTED]'],
    ['Server=db;Password=swordfish;Port=1', 'Server=db;Password=[REDACTED];Port=1'],
    ['?access_token=abcdef&x=1', '?access_token=[REDACTED]&x=1'],
    ['DB_PASSWORD=p)ss[w}rd', 'DB_PASSWORD=[REDACTED]'],
    ['admin_token=abcdef', 'admin_token=[REDACTED]'],
    ['f(api_key=abc123)', 'f(api_key=[REDACTED])'],
  ],
  'labelled secret': [
    ['token: abc123, next', 'token: [REDACTED], next'],
    ['user: bob\npassword: swordfish\n', 'user: bob\npassword: [REDACTED]\n'],
    ['client-secret := a1b2c3', 'client-secret := [REDACTED]'],
  ],
  'double-quoted secret': [
    ['{"password":"hunter","n":1}', '{"password":"[REDACTED]","n":1}'],
    ['api_key = "a\\"b c d"', 'api_key = "[REDACTED]"'],
    ['password="correct horse"', 'password="[REDACTED]"'],
  ],
  'single-quoted secret': [["const token = 'abcdef';", "const token = '[REDACTED]';"]],
  'secret in escaped quotes': [['{\\"password\\":\\"hunter\\"}', '{\\"password\\":\\"[REDACTED]\\"}']],
  'secret in a flag': [
    ['x --password hunter2 --user bob', 'x --password [REDACTED] --user bob'],
    ['x --db-password swordfish', 'x --db-password [REDACTED]'],
  ],
  'secret in a sentence': [['Your password is Xy7abc.', 'Your password is [REDACTED].']],
  'secret in an element': [
    ['<a><password>correcthorse</password></a>', '<a><password>[REDACTED]</password></a>'],
    ['<ns:apiKey x="y">abc def</ns:apiKey>', '<ns:apiKey x="y">[REDACTED]</ns:apiKey>'],
    ['<token><![CDATA[abcd]]></token>', '<token><![CDATA[[REDACTED]]]></token>'],
  ],
  'secret in a named element': [
    ['<property name="db.password">abcd</property>', '<property name="db.password">[REDACTED]</property>'],
    ['<key>api_key</key>\n <string>abcd</string>', '<key>api_key</key>\n <string>[REDACTED]</string>'],
  ],
  'secret in an attribute': [
    ['<add key="ApiKey" value="abcd" />', '<add key="ApiKey" value="[REDACTED]" />'],
  ],
  'secret in an attribute before its name': [
    ['<input value="abcd" name="password">', '<input value="[REDACTED]" name="password">'],
  ],
  'secret in a query': [
    ['https://x/?a=1&sig=abcdef&b', 'https://x/?a=1&sig=[REDACTED]&b'],
    ['https://x/?X-Amz-Signature=abcdef', 'https://x/?X-Amz-Signature=[REDACTED]'],
    ['https://x/?X-Amz-Credential=abcdef', 'https://x/?X-Amz-Credential=[REDACTED]'],
  ],
  'key in a query': [
    [`https://x/?key=${fake(24)}&z`, 'https://x/?key=[REDACTED]&z'],
    [`https://x/?code=4/0${fake(24)}&z`, 'https://x/?code=[REDACTED]&z'],
  ],
  'password in a netrc line': [
    ['machine x login bob password abcd', 'machine x login bob password [REDACTED]'],
  ],
  'password through a pipe': [
    ["echo 'abcd' | sudo -S ls", "echo '[REDACTED]' | sudo -S ls"],
    [
      'printf %s abcd | docker login --password-stdin',
      'printf %s [REDACTED] | docker login --password-stdin',
    ],
  ],
  'password in a here-string': [
    ['docker login --password-stdin <<< abcd', 'docker login --password-stdin <<< [REDACTED]'],
  ],
  'password in SQL': [["x IDENTIFIED BY 'abcd';", "x IDENTIFIED BY '[REDACTED]';"]],
  'password of a role in SQL': [["ALTER ROLE x PASSWORD 'abcd';", "ALTER ROLE x PASSWORD '[REDACTED]';"]],
  'secret in a form part': [
    [
      'form-data; name="password"\r\nX: y\r\n\r\nabcd\r\n--b',
      'form-data; name="password"\r\nX: y\r\n\r\n[REDACTED]\r\n--b',
    ],
  ],
  'PuTTY private key': [['Private-Lines: 1\nAAAA', 'Private-Lines: 1\n[REDACTED]']],
  'token of a known provider': [
    `dop_v1_${'a1'.repeat(32)}`,
    `shpat_${'a1'.repeat(16)}`,
    `lin_api_${fake(40)}`,
    `secret_${fake(43)}`,
    `ntn_${fake(46)}`,
    `gsk_${fake(52)}`,
    `dapi${'a1'.repeat(16)}`,
    `hvs.${fake(24)}`,
    `dp.pt.${fake(43)}`,
    `123456789:AA${fake(33)}`,
    `M${fake(23)}.${fake(6)}.${fake(27)}`,
    `abc1Q~${fake(32)}`,
    `key-${'a1'.repeat(16)}`,
    `${'a1'.repeat(16)}-us12`,
    `ATATT3${fake(60)}`,
    `SK${'a1'.repeat(16)}`,
    `AGE-SECRET-KEY-1${'QPZ7'.repeat(15)}`,
    `IQoJb3JpZ2lu${fake(80)}`,
    `ABSK${fake(100)}`,
    `xai-${fake(80)}`,
    `pplx-${fake(48)}`,
    `dckr_pat_${fake(27)}`,
    `glsa_${fake(32)}_1a2b3c4d`,
    `pat${fake(14)}.${'a1'.repeat(32)}`,
    `rubygems_${'a1'.repeat(24)}`,
    `sntrys_${fake(60)}`,
    `figd_${fake(40)}`,
    `sbp_${'a1'.repeat(20)}`,
    `xoxd-${fake(30)}`,
    `rzp_live_${fake(14)}`,
    `pat-na1-${'0f8fad5b-d9cb-469f-a165-70867728950e'}`,
  ].map((token) => [`at ${token} now`, 'at [REDACTED] now'] as const),
  'Discord webhook': [
    [`https://discord.com/api/webhooks/123/${fake(60)}`, 'https://discord.com/api/webhooks/123/[REDACTED]'],
  ],
  'card number': [
    ['card 4111 1111 1111 1111 exp', 'card [REDACTED] exp'],
    // A run that starts with another number and is not a card is checked again from its second number.
    ['order 1234 4111 1111 1111 1111 exp', 'order 1234 [REDACTED] exp'],
    ['4111-1111-1111-1111', '[REDACTED]'],
    ['5500005555555559', '[REDACTED]'],
    ['3714 496353 98431', '[REDACTED]'],
    ['ref 1234 4111111111111111', 'ref 1234 [REDACTED]'],
  ],
};

/** Texts without secrets, though much looks like one. */
const harmless = [
  'https://api.example.com/items?page_token=CAUQAA&next_page_token=abc123&max_tokens=1000',
  '{"nextPageToken": "abc123", "continuation_token": "x1y2z3", "tokens": 12345}',
  'http://localhost:8080/a@b, https://user@host/x, mailto:a@b.c and http://[::1]:80/@',
  'password: string; token: str, secret: Buffer | undefined, apiKey?: string',
  'token = await getToken(); password=os.environ["X"]; const secret = process.env.SECRET',
  'login(password=password, token=token, api_key=settings.API_KEY, secret=${SECRET}, token=$TOKEN)',
  'token == other; password === "" ; if (token) {} ; this.token = authToken; key: value',
  'api_key=<your key>, token=YOUR_TOKEN, password: ********, secret: {{ secret }}',
  'Password: must be at least 8 characters. The token is invalid. password is required',
  '"password": "Enter your password", "secret": "string", secret: my-tls-secret',
  'Bearer authentication and bearer tokens; Bearer Token-based; basic understanding of Basic JavaScript',
  'Cookie: a small piece of data. Authorization: required',
  'sk-learn-is-a-nice-hyphenated-phrase task-aB3dE5gH7jK9mN1pQ2sT4 AKIA eyJ ghp_short npm_config',
  '4111111111111112 1234567890123456 2026-11-15 04:29:29 1700000000000 0.4111111111111111',
  '41111111-1111-4111-8111-111111111111 0f8fad5b-d9cb-469f-a165-70867728950e',
  '-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----',
];

describe('a secret in a text', () => {
  test('has samples here for every pattern', () => {
    expect(Object.keys(samples)).toEqual(secretPatterns.map(({ name }) => name));
  });

  for (const { name, pattern } of secretPatterns)
    test.each(samples[name] ?? [])(`is hidden as ${name}: %j`, (text, left) => {
      expect(pattern.test(text)).toBe(true);
      expect(mask(text)).toBe(left);
      expect(mask(`first line\n${text}\nlast line`)).toBe(`first line\n${left}\nlast line`);
    });

  test.each(harmless)('is not reported if there is none: %j', (text) => {
    expect(mask(text)).toBe(text);
  });

  test('is hidden to the end if a private key is cut off', () => {
    expect(mask('x -----BEGIN PRIVATE KEY-----\nMIIE\nabc')).toBe('x [REDACTED]');
    expect(mask(`-----BEGIN PRIVATE KEY-----\nMII\n${pem('', '\nabc\n')} z`)).toBe('[REDACTED][REDACTED] z');
  });

  test('is hidden in the middle of five megabytes', () => {
    const padding = 'An ordinary line of text.\n'.repeat(100_000);
    expect(mask(`${padding}password=hunter2\n${padding}`)).toBe(`${padding}password=[REDACTED]\n${padding}`);
    const body = 'A'.repeat(5_000_000);
    expect(mask(pem('', body))).toBe('[REDACTED]');
    expect(mask(`token="${body}"`)).toBe('token="[REDACTED]"');
  });
});

describe('the patterns', () => {
  const pieces =
    'password|TOKEN|secret|api_key|page_|=|:|: | is |"|\'|\\"|\n| |.|-|_|://|@|/|Bearer |Basic |--token |hunter2|[RED|é|\ud800|\0';
  const fragment = fc.constantFrom(
    ...Object.values(samples).flatMap((rows) => rows.flat()),
    ...pieces.split('|'),
  );
  const text = fc
    .array(
      fc.oneof({ weight: 4, arbitrary: fragment }, { weight: 1, arbitrary: fc.string({ maxLength: 6 }) }),
      {
        maxLength: 8,
      },
    )
    .map((parts) => parts.join(''));

  test('match no text that the hint does not', () => {
    fc.assert(
      fc.property(text, (candidate) => {
        const isMatched = secretPatterns.some(({ pattern }) => pattern.test(candidate));
        expect(isMatched && !(candidate.length >= shortestSecret && secretHint.test(candidate))).toBe(false);
      }),
      { numRuns: 1_000 },
    );
  });

  test('leave a text in which they find nothing more', () => {
    fc.assert(
      fc.property(text, (candidate) => {
        const masked = mask(candidate);
        expect(mask(masked)).toBe(masked);
      }),
      { numRuns: 1_000 },
    );
  });

  test('keep no position between texts', () => {
    for (const { pattern } of [...secretPatterns, { pattern: secretHint }])
      expect(pattern.flags).toMatch(/^i?$/);
  });
});

describe('on hostile text', () => {
  const length = 100_000;
  const seeds = [
    'a|A|4|-|_|.|:|/|=|"|\'|\\| |\n|@|)|$|4 |4111 |sk-|sk-a|ghp_|ghp_a.|glpat-|xoxb-|sk_live_|AIza|1//0|SG.',
    'SG.aaaaaaaaaaaaaaaa.|eyJ|-eyJ|eyJaaaaaaaaaa.|-----BEGIN PRIVATE KEY-----|-----BEGIN PRIVATE KEY-----a-',
    `-----BEGIN |-----END RSA PRIVATE KEY|${fake(40)}\n|${btoa('-----BEGIN RSA PRIVATE KEY--')}|"kty|"kty":"d":"|"d":"${fake(16)}|%20|%41a|a=%41&|Private-Lines: 1 |AKIA|${awsId},|://|://a:|://a:b|a://b@|Bearer a|Basic aaaaaaaa |Authorization: Bearer |cookie:`,
    'cookie: aaaaaaaa|token|token=|token=$|token:)|token:1) |token="a|token: "Aa |token:\\"a|password: "\\a',
    'password is a|--|--token |--token-|token=a_|token=aToken|secret_access_key=|next_page_token: 1|[REDACTED]|[RED',
    'token=[REDACTED]|://token:|://token:1|password: "\\"',
  ].flatMap((line) => line.split('|'));
  const texts = seeds.flatMap((seed) =>
    ['', '!', '1"@'].map((end) => seed.repeat(Math.ceil(length / seed.length)).slice(0, length) + end),
  );

  const plain = 'ab'.repeat(length / 2);
  const scan = (): void => {
    let count = 0;
    for (let at = 0; at < plain.length; at++) if (plain.charCodeAt(at) === 98) count++;
    expect(count).toBe(length / 2);
  };

  /** Twice, because a garbage collection may happen during one. */
  const exceeds = (run: () => void, bound: number): boolean => cpuMsOf(run) > bound && cpuMsOf(run) > bound;

  let scanMs = 0;
  beforeAll(() => {
    scanMs = cpuMsPerRun(scan);
  });

  test.each([...secretPatterns, { name: 'the hint', pattern: secretHint }])(
    '$name takes a bounded multiple of the time of a scan',
    ({ pattern }) => {
      const global = new RegExp(pattern.source, `${pattern.flags}g`);
      // Linear patterns stay far below this, however well the scan was compiled; others are far above it.
      const bound = 2_000 * scanMs;
      const slow = texts.filter((text) => {
        const run = (): void => {
          for (const _ of text.matchAll(global));
        };
        return exceeds(run, bound);
      });
      expect(slow.map((text) => text.slice(0, 40))).toEqual([]);
    },
  );

  test('all of them together do too', () => {
    const bound = 4_000 * scanMs;
    const slow = texts.filter((text) => exceeds(() => void mask(text), bound));
    expect(slow.map((text) => text.slice(0, 40))).toEqual([]);
  });
});
