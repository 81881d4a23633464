import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createNameCheck, secretNames, squashName } from './secret-names.ts';

const isSecretName = createNameCheck([], true);

const secret = [
  'password passwd pwd passphrase PASSWORD new_password userPassword dbpassword password2 password_2',
  'passwordConfirmation DB_PASS secret client_secret clientSecret clientsecret stripe_secret_key',
  'AWS_SECRET_ACCESS_KEY SecretString webhook-secret secrets token access_token refresh_token id_token',
  'githubToken GITHUB_TOKEN githubtoken Token admin_token adminToken admintoken csrf-token api_key',
  'apikey apiKey APIKey x-api-key X-API-Key openAIApiKey API_KEY_1 authorization Authorization',
  'proxy-authorization cookie set-cookie Set-Cookie private_key privateKey credential credentials',
  'awsCredentials ssn SSN social_security_number card_number cardNumber cvv cvv2 card.cvc otp jwt',
].flatMap((line) => line.split(' '));

const harmless = [
  'next_page_token nextPageToken nextpagetoken page_token pageToken NextToken syncToken',
  'continuation_token continuationToken max_tokens maxTokens tokens token_count tokenizer token_type',
  'costPerToken stop_token cursor secretary secretName author authority authorId key keys primary_key',
  'public_key keyboard monkey passport compass bypass has_password showPassword isSecret',
  'password_policy cookie_policy pin session_id class_n _ 0 ssnap credentialed constructor __proto__',
]
  .flatMap((line) => line.split(' '))
  .concat('');

describe('the name of a member', () => {
  test.each(secret)('%s marks a secret', (name) => {
    expect(isSecretName(name)).toBe(true);
  });

  test.each(harmless)('%j does not', (name) => {
    expect(isSecretName(name)).toBe(false);
  });

  test('marks a secret in any spelling, and whatever comes before', () => {
    const before = fc.constantFrom('my', 'stripe', 'new', 'prod', 'user', 'backup');
    const base = fc.constantFrom(
      'password',
      'secret',
      'api key',
      'private key',
      'refresh token',
      'card number',
    );
    const join = fc.constantFrom<(words: readonly string[]) => string>(
      (words) => words.join('_'),
      (words) => words.join('-'),
      (words) => words.join('.'),
      (words) => words.join('_').toUpperCase(),
      (words) => words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(''),
      (words) =>
        words.map((word, at) => (at === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1))).join(''),
    );
    fc.assert(
      fc.property(before, base, join, fc.constantFrom('', '1', '_2'), (first, name, joined, number) => {
        expect(isSecretName(joined([first, ...name.split(' ')]) + number)).toBe(true);
      }),
    );
  });

  test('may be as long as a text', () => {
    expect(isSecretName(`${'x'.repeat(5_000_000)}_password`)).toBe(true);
    expect(isSecretName('password_'.repeat(500_000) + 'count')).toBe(false);
  });

  test('may be one that the host calls a secret: by its last words, in any language', () => {
    const check = createNameCheck(['customer-reference', 'Contraseña', '密码', 'page_token'], true);
    for (const name of [
      'customerReference',
      'our_customer_reference',
      'contraseña',
      'la_contraseña',
      '密码',
      'next_page_token',
    ])
      expect(check(name)).toBe(true);
    expect(check('customer_reference_count')).toBe(false);
    expect(check('password')).toBe(true);
  });

  test('is only what the host calls a secret if the defaults are off', () => {
    const check = createNameCheck(['reference'], false);
    expect(check('my_reference')).toBe(true);
    for (const name of ['password', 'dbpassword', 'token', 'githubtoken']) expect(check(name)).toBe(false);
  });
});

test('every name in the table is in normalized form, once', () => {
  expect(secretNames.map(squashName)).toEqual(secretNames);
  expect(new Set(secretNames).size).toBe(secretNames.length);
});
