/** A certificate for 127.0.0.1 that signs itself, so that tests of TLS need no other program. */
import { generateKeyPairSync, randomBytes, sign } from 'node:crypto';

const sha256WithRsa = '2a864886f70d01010b';
const commonName = '550403';
const basicConstraints = '551d13';
const alternativeNames = '551d11';

/** One DER value: its tag, its length, its content. */
function der(tag: number, ...contents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(contents);
  const { length } = content;
  const size =
    length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, Math.floor(length / 256), length % 256];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...contents: readonly Uint8Array[]): Buffer => der(0x30, ...contents);
const integer = (bytes: Uint8Array): Buffer => der(0x02, bytes);
const objectId = (hex: string): Buffer => der(0x06, Buffer.from(hex, 'hex'));
const text = (value: string): Buffer => der(0x0c, Buffer.from(value));
const isTrue = der(0x01, Buffer.from([0xff]));
const octets = (content: Uint8Array): Buffer => der(0x04, content);
const bits = (content: Uint8Array): Buffer => der(0x03, Buffer.from([0]), content);
/** `261116195600Z` */
const utcTime = (at: number): Buffer =>
  der(0x17, Buffer.from(`${new Date(at).toISOString().replaceAll(/[-:T]/g, '').slice(2, 14)}Z`));

const dayMs = 86_400_000;

/** Key and certificate as PEM, good for two days. */
export function selfSigned(): { readonly key: string; readonly certificate: string } {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const algorithm = sequence(objectId(sha256WithRsa), der(0x05));
  const name = sequence(der(0x31, sequence(objectId(commonName), text('test'))));
  const loopback = der(0x87, Buffer.from([127, 0, 0, 1]));
  const extensions = sequence(
    sequence(objectId(basicConstraints), isTrue, octets(sequence(isTrue))),
    sequence(objectId(alternativeNames), octets(sequence(loopback))),
  );
  const signed = sequence(
    der(0xa0, integer(Buffer.from([2]))), // version 3
    integer(Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    algorithm,
    name,
    sequence(utcTime(Date.now() - dayMs), utcTime(Date.now() + 2 * dayMs)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, extensions),
  );
  const certificate = sequence(signed, algorithm, bits(sign('sha256', signed, privateKey)));
  const lines = certificate.toString('base64').match(/.{1,64}/g) ?? [];
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }) as string, // a text, because the format is PEM
    certificate: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
  };
}
