/**
 * Recognizes a command by its text, if the name of its argument does not say so: `{job: 'rm -rf build'}`. A text
 * counts if it starts with a known program and continues like a command: with an option, an operator, a path.
 * Programs whose names are English words need an option, so that "make it short" stays a sentence.
 */
import { isLauncher, isPlainProgram } from './programs.ts';

/** Programs of commands that must not be missed and that neither table has. */
const otherPrograms: ReadonlySet<string> = new Set(
  (
    'chgrp chown dd diskutil fdisk format halt ifconfig init insmod ip iptables kill killall launchctl mkfifo mkfs mknod ' +
    'modprobe mount netstat nft parted passwd pkill poweroff printenv ps reboot rmmod route service setfacl shred shutdown ' +
    'swapoff systemctl umount useradd userdel usermod visudo wget wipefs xxd kubectl helm terraform aws az gcloud gsutil ' +
    'heroku flyctl vercel netlify mongo apk apt apt-get brew dnf dpkg pacman snap yum zypper choco winget reg rd del erase ' +
    'icacls schtasks powershell.exe pwsh.exe gh openssl quittance'
  ).split(' '),
);

/** Programs whose names are common words. */
const englishWords: ReadonlySet<string> = new Set(
  (
    'at batch builtin cat command cut echo env eval exec expect expand file find fish fold format go halt head help ' +
    'init install ip join just kill last less link look mail make man more mount nice node parallel paste patch ' +
    'perf ping print printf reboot reg route ruby screen script seq service set shred shutdown sleep snap sort source split ' +
    'stat strings tail task tee test time timeout touch tree true truncate type unlink watch which who write yes ' +
    'swift dart crystal julia php perl python java rust docker git read local hash enable export wine sage mono scheme ' +
    'command r ex ed dc'
  ).split(' '),
);

/** Programs that destroy data or transfer rights: any word after them makes a command. */
const drastic: ReadonlySet<string> = new Set(
  'rm rmdir chmod chown chgrp dd mkfs shred wipefs fdisk sudo doas su userdel usermod visudo iptables pkill killall'.split(
    ' ',
  ),
);

const beginning =
  /^\s*(?:[$#>]\s+)?(?:[A-Za-z_]\w*=[^\s;&|]*(?:\s*[;&]+\s*|\s+))*(["']?)([\w./+~-]+)\1(?=$|[\s;&|<>])/;
const option = /(?:^|\s)(?:--?[A-Za-z][\w-]*|\/[a-z])(?=$|[\s=:,]|\d)/i;
const operator = /[|;>`]|&&|\$[({]/;
const named = /(?:^|[\s"'=@])(?:[~.]{0,2}\/|[a-z]+:\/\/|[\w-]+\/|[\w-]+\.[a-z]\w{0,4}(?:$|[\s"'])|\*)/i;

export function looksLikeCommand(text: string): boolean {
  const found = beginning.exec(text);
  if (found === null) return false;
  const program = programOf(found[2] ?? '');
  if (program === undefined) return false;
  const [rest = ''] = text.slice(found[0].length).split('\n', 1);
  if (option.test(rest)) return true;
  if (drastic.has(program)) return rest.trim() !== '';
  return !englishWords.has(program) && (operator.test(rest) || named.test(rest));
}

/** The same for a list of words: `['rm', '-rf', 'build']`. */
export const areWordsOfCommand = (words: readonly string[]): boolean =>
  words.length > 1 && !/\s/.test(words[0] ?? '') && looksLikeCommand(words.join(' '));

function programOf(word: string): string | undefined {
  const name = word.slice(word.lastIndexOf('/') + 1).toLowerCase();
  const isKnown = isPlainProgram(name) || isLauncher(name) || otherPrograms.has(name);
  return isKnown || name.startsWith('mkfs.') ? name : undefined;
}
