/**
 * Member names that mark a secret. A name is read as words (`githubToken`, `github-token`, `GITHUB_TOKEN_2`) and its end
 * counts. A `token_count` is a count, a `next_page_token` is a place in a list.
 */

/** Names of secrets: the last words of a name, joined. */
export const secretNames: readonly string[] = [
  'password passwords passwd pwd passphrase passcode dbpass smtppass mailpass ftppass rootpass userpass',
  'passwordconfirmation passwordconfirm passwordagain passwordrepeat passwordhash',
  'secret secrets secretkey secretaccesskey secretvalue secretstring',
  'token accesstokens refreshtokens apitokens authtokens tokenvalue jwt bearer',
  'apikey apikeys accesskey accesskeys accountkey privatekey privatekeys signingkey encryptionkey masterkey',
  'sharedkey sshkey seedphrase recoveryphrase',
  'authorization cookie cookies credential credentials authcode authorizationcode',
  'otp totp otpcode mfacode 2facode recoverycode recoverycodes backupcodes',
  'authkey subscriptionkey functionskey servicerolekey serviceaccountkey clientkey storagekey webhookkey',
  'storepass keypass sshpass psw pswd passwrd sharedaccesssignature authheader authorizationheader mnemonic',
  'passwort kennwort contraseña contrasena senha motdepasse пароль 密码 密碼 パスワード 비밀번호 wachtwoord hasło',
  'ssn socialsecuritynumber cardnumber ccnumber cvv cvc cardsecuritycode cardpin',
].flatMap((line) => line.split(' '));

/** Names written as one word still end like this: `dbpassword`, `clientsecret`. No other word does. */
const secretEndings = ['password', 'passwd', 'passphrase', 'secret', 'apikey', 'privatekey', 'secretkey'];

/** Words before `token` that make it a place in a list, or a piece of a text. */
export const harmlessBeforeToken: ReadonlySet<string> = new Set(
  [
    'page paging pagination next prev previous continuation continue cursor sync start starting resume resumption',
    'scroll delta change marker position',
    'max min per stop eos bos pad unk mask sep cls special first last input output prompt completion design',
  ].flatMap((line) => line.split(' ')),
);

/** First words of a yes-or-no question: `has_password`, `showPassword`. */
const questions = new Set(
  'has is show hide use uses need needs require requires allow allows accept enable disable forgot'.split(
    ' ',
  ),
);

/**
 * Creates a check whether a name marks a secret: by its last words, as in `secretNames`, or by those in `added`.
 * Without `defaults` only `added` counts.
 */
export function createNameCheck(added: readonly string[], defaults: boolean): (name: string) => boolean {
  const names = new Set([...(defaults ? secretNames : []), ...added.map(squashName)]);
  return (name) => {
    const words = toWords(name);
    const last = words.at(-1);
    if (last === undefined || (words.length > 1 && questions.has(words[0] ?? ''))) return false;
    let end = '';
    for (let index = words.length - 1; index >= 0; index--) {
      end = `${words[index]}${end}`;
      if (names.has(end) && !(end === 'token' && harmlessBeforeToken.has(words[index - 1] ?? '')))
        return true;
    }
    return defaults && endsLikeSecret(last);
  };
}

/** The normalized name: `X-Api-Key`, `xApiKey` and `x_api_key` are all `xapikey`. */
export const squashName = (name: string): string => toWords(name).join('');

/** The words of a name in lower case, without the number that distinguishes `password2` from `password`. */
function toWords(name: string): string[] {
  const words = name
    .slice(-longestName)
    .replaceAll(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/gu, ' ')
    .toLowerCase()
    .split(/[^\p{L}\p{N}]+/u);
  const bare = words.map((word, index) => (index === words.length - 1 ? word.replace(/\d+$/, '') : word));
  return bare.filter((word) => word !== '');
}

/** Only the end of a name counts, and a key may be as long as a text. */
const longestName = 120;

function endsLikeSecret(word: string): boolean {
  if (secretEndings.some((ending) => word.endsWith(ending))) return true;
  if (!word.endsWith('token') || word === 'token') return false;
  const before = word.slice(0, -'token'.length);
  return !harmlessBeforeToken.has(before) && !before.endsWith('page');
}
