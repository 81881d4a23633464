/** Secrets in markup, URLs and pipes, whose names are near them but not before a colon. */
import { secretName as name, noSecretValue as noSecret } from './secret-assignments.ts';
import type { SecretPattern } from './secret-pattern.ts';

const source = String.raw;
const named = source`["'][\w.:-]{0,60}?${name}["']`;
const rowElement =
  '(?:property|entry|add|param|parameter|setting|string|item|attribute|arg|env|variable|config|prop|data|value)';
const readsPassword = source`(?:--password-stdin|-S(?![\w-])|--stdin(?![\w-])|--with-token|--passphrase-fd|chpasswd|cryptsetup)`;

export const markupSecretPatterns: readonly SecretPattern[] = [
  {
    name: 'secret in an element', // <password>x</password>
    pattern: new RegExp(
      source`<[\w.:-]{0,60}?${name}(?:\s[^<>]{0,300})?>\s{0,40}(?:<!\[CDATA\[)?(?!${noSecret})(?<secret>[^<>\]\s](?:[^<>\]]*[^<>\]\s])?)\s{0,40}(?:\]\]>)?\s{0,40}<\/`,
    ),
  },
  {
    name: 'secret in a named element', // <property name="password">x</property>, <key>password</key><string>x</string>
    pattern: new RegExp(
      source`(?:<${rowElement}\s[^<>]{0,200}?(?:name|key|id)=${named}[^<>]{0,200}>|<key>[\w.-]{0,60}?${name}</key>\s{0,40}<string>)(?!${noSecret})(?<secret>[^<>]{4,})</`,
    ),
  },
  {
    name: 'secret in an attribute', // <add key="ApiKey" value="x" />
    pattern: new RegExp(
      source`(?:name|key|id)=${named}\s[^<>]{0,100}?value=["'](?!${noSecret})(?<secret>[^"'<>]{4,})["']`,
    ),
  },
  {
    name: 'secret in an attribute before its name', // <input value="x" name="password">
    pattern: new RegExp(
      source`value=["'](?!${noSecret})(?<secret>[^"'<>]{4,400})["']\s[^<>]{0,100}?(?:name|key|id)=${named}`,
    ),
  },
  {
    name: 'secret in a query', // ?sig=x
    pattern:
      /[?&;](?:sig|signature|[Xx]-(?:[Aa]mz|[Gg]oog)-(?:[Ss]ignature|[Cc]redential|[Ss]ecurity-[Tt]oken)|auth|auth_?key|hmac|pass|jwt|sid|sessionid|session_id|assertion|SAMLResponse|[A-Z][A-Za-z]{0,20}Signature)=(?<secret>[^&\s"'<>#]{6,})/,
  },
  {
    // A sort key is a word; an access key is not.
    name: 'key in a query',
    pattern: /[?&](?:key|code)=(?=[A-Za-z_.%/-]{0,60}\d)(?=[\d_.%/-]{0,60}[A-Za-z])(?<secret>[\w.%/-]{20,})/,
  },
  {
    name: 'password in a netrc line',
    pattern: /(?<![\w-])login\s{1,20}\S{1,100}\s{1,20}password\s{1,20}(?<secret>\S{4,})/,
  },
  {
    name: 'password through a pipe', // echo x | sudo -S ls
    pattern: new RegExp(
      source`(?<![\w-])(?:echo|printf)[ \t]+(?:-[ne]+[ \t]+|["']?%s(?:\\n)?["']?[ \t]+)?["']?(?<secret>[^\s"'|;&$<(][^"'|;&\n]{2,200}[^\s"'|;&])["']?[ \t]{0,20}\|[^|\n]{0,200}?(?<![\w-])${readsPassword}`,
    ),
  },
  {
    name: 'password in a here-string', // docker login --password-stdin <<< x
    pattern: new RegExp(source`(?<![\w-])${readsPassword}[^\n|]{0,200}<<<[ \t]*["']?(?<secret>[^\s"'$]{4,})`),
  },
  {
    name: 'password in SQL', // IDENTIFIED BY 'x', WITH PASSWORD 'x'
    pattern:
      /(?:IDENTIFIED|identified)\s{1,20}(?:(?:WITH|with)\s{1,20}\S{1,40}\s{1,20})?(?:BY|AS|by|as)\s{1,20}'(?<secret>[^']{4,})'/,
  },
  {
    name: 'password of a role in SQL',
    pattern: /(?:PASSWORD|password)\s{1,20}'(?<secret>[^']{4,})'/,
  },
  {
    name: 'secret in a form part', // Content-Disposition: form-data; name="password"
    pattern: new RegExp(
      source`name="[\w.:[-]{0,60}?${name}\]?"\r?\n(?:[^\r\n]{1,200}\r?\n){0,3}\r?\n(?<secret>[^\r\n]{4,})`,
    ),
  },
  {
    name: 'PuTTY private key',
    pattern:
      /Private-Lines: \d{1,4}\r?\n(?<secret>[A-Za-z0-9+/=]{1,80}(?:\r?\n[A-Za-z0-9+/=]{1,80}(?=\r?\n|$)){0,200})/,
  },
];

/** Pattern source, case-insensitive, that matches every text that one of these matches. */
export const markupHint: string = [
  source`(?:word|wd|phrase|code|secret|key|token|authorization|pass|credentials?)\d{0,2}\]?(?:\s[^<>]{0,300})?[>"']`,
  source`[?&;](?:sig|signature|x-(?:amz|goog)-|auth|auth_?key|hmac|pass|jwt|sid|sessionid|session_id|assertion|samlresponse|key|code|[a-z]{0,21}signature)[\w-]{0,20}=`,
  source`password\s{1,20}\S`,
  source`identified\s`,
  source`${readsPassword}`,
  'private-lines:',
].join('|');
