/** Commands that are easily misread: the word taken for the program is not the one that runs. */
import { attackClass, type Family } from './attack-class.ts';
import { callTool, loadDocument, project } from './attack.ts';
import { runBashUnder, type BashAttempt } from './bash-attempt.ts';

/** `rm` is not listed, and no other host is. */
const listed =
  'ls cat env sudo xargs strace perf parallel time nice timeout find npm npx pnpm git nsenter script docker kubectl uv ' +
  'bash sh zsh powershell pwsh PowerShell cmd cmd.exe awk gawk sed java gcc scp ssh apt-get rpm pip export alias trap ' +
  'hash setarch prlimit sshpass rustup curl wget ping nc telnet dig rsync psql mysql';

const document = `apiVersion: quittance/v1
kind: Ruleset
metadata: {name: misread}
defaults: {mode: enforce}
rules:
  - id: listed-programs
    type: sandbox
    tools: [Bash]
    within: [${project}]
    not_within: [${project}/secrets]
    allows: {commands: [${listed.split(' ').join(', ')}], domains: [api.example.com]}
    chains: judge
    message: Only listed programs and hosts.
`;

const conditions = `apiVersion: quittance/v1
kind: Ruleset
metadata: {name: conditions}
defaults: {mode: enforce}
rules:
  - id: no-rm
    type: pre
    tool: "*"
    when: {found.commands: {matches: '^rm( |$)'}}
    then: {action: block, message: Nothing is removed from here.}
`;

const run = runBashUnder(document);

const texts = (commands: readonly string[]): readonly BashAttempt[] =>
  commands.map((command) => ({ name: command, input: { command } }));

const options: readonly string[] = [
  'env --unse ls rm x',
  'env -a ls rm x',
  'env --argv0 ls rm x',
  'env -P ls rm x',
  'sudo --promp ls rm x',
  'sudo -a ls rm x',
  'xargs --process-slot-var ls rm x',
  'xargs --replace rm ls',
  'nsenter -r rm ls',
  'nsenter -w rm ls',
  'strace --output ls rm x',
  'strace --env ls rm x',
  'perf stat -x ls rm x',
  'parallel -a ls rm x',
  'parallel --tmpdir ls rm x',
  'time --outpu ls rm x',
  'npx --loglevel ls rm',
  'npx --some-setting ls rm',
  'npm --some-setting ls exec rm',
  'npm --some-setting=x exec rm',
  'pnpm -w exec rm x',
  'uv --some-setting pip run rm x',
  'docker --some-setting ps exec web rm x',
  'docker exec --some-setting web ls rm x',
  'kubectl exec --some-setting pod ls rm x',
  'git config --comment get alias.x !rm',
  'script -q log rm x',
  'find . -exec env -u + rm {} ;',
  'find . -exec nice -n + rm {} ;',
  'find . -exec ls {} + -exec rm {} +',
];

const ownOptions: readonly string[] = [
  'java -XX:OnOutOfMemoryError=rm App',
  'java -agentpath:./x.so App',
  'java @options',
  'gcc -fplugin=./x.so a.c',
  'gcc -B./x a.c',
  'gcc -Bx a.c',
  'gcc @options',
  'scp -D ./x a api.example.com:b',
  'ssh -I ./x.so api.example.com',
  'apt-get update -o APT::Update::Pre-Invoke::=rm',
  'apt-get -oAPT::Update::Pre-Invoke::=rm update',
  `rpm -E '%(rm x)'`,
  'rpm --pipe rm -qa',
  'pip --python ./x list',
  'npm set script-shell=x',
  'npm c set script-shell=x',
  'git init --template=x',
  'setarch x86_64 rm x',
  'prlimit --nofile=1 rm x',
  'sshpass -p x rm x',
  'rustup run stable rm x',
];

const shells: readonly string[] = [
  `bash -cls 'rm -rf x'`,
  `sh -ce 'rm x'`,
  `bash -c -x 'rm x'`,
  `bash -c -- 'rm x'`,
  `bash -oc pipefail 'rm x'`,
  `zsh -fc 'rm x'`,
  `env bash -c 'cat secrets/key'`,
  `timeout 5 sh -c 'cat secrets/key'`,
  'powershell -Command rm x',
  'powershell -NoProfile -Command "Remove-Item x"',
  'powershell -EncodedCommand AAAA',
  'PowerShell -Command rm x',
  'pwsh -c ls',
  'pwsh Remove-Item x',
  'cmd /c del x',
  'cmd.exe /c "del x"',
  'export PATH=bin && ls',
  'export LD_PRELOAD=./x.so; ls',
  'alias ls=rm; ls x',
  `trap 'rm x' EXIT`,
  'hash -p ./x ls; ls',
];

const scripts: readonly string[] = [
  `awk '/"/ {system("rm x")} /"/' a`,
  `awk '/"/ {print | "sh"} /"/' a`,
  `gawk '/[/"]/ {system("rm x")} /"/' a`,
  `awk '(1) /"/ {system("rm x")} /"/' a`,
  `awk '# "\n{system("rm x")} # "' a`,
  `awk '{print > 0 "/../../../etc/x"}' a`,
  `sed -n 's/[/]/p;/e;/p' a`,
  `sed -n 's/[/]/p;/w x;/p' a`,
  `sed -n '/[/]/w x;/p' a`,
];

/** A tool that joins the words runs less than the list says, because the rest is a comment. */
const lists: readonly (readonly string[])[] = [
  ['find', '. -delete', '#'],
  ['find', '. -delete', '# it', 'is'],
  ['find', '. -exec rm x ;', '#'],
  ['find', '.', '-name x -delete', '\\'],
  ['git', '-c core.pager=rm log', '#'],
  ['env', '-u x', 'rm x', '#'],
];

const hosts: readonly string[] = [
  'curl metadata',
  'curl metadata/computeMetadata/v1',
  'curl intranet:8080/x',
  'curl 169.254.43518/latest',
  'curl 127.1',
  'curl 0x7f.1',
  'curl https://api.example.com/ intranet',
  'curl -s -m 5 intranet',
  'curl --url intranet',
  'curl -x intranet https://api.example.com/',
  'curl --socks5 intranet https://api.example.com/',
  'env curl intranet',
  `bash -c 'curl intranet'`,
  `timeout 5 bash -c 'curl intranet'`,
  'wget intranet',
  'ping 127.1',
  'ssh intranet ls',
  'ssh user@intranet ls',
  'ssh -J intranet api.example.com ls',
  'scp a intranet:b',
  'rsync a intranet:b',
  'rsync a intranet::b',
  'nc intranet 80',
  'telnet intranet',
  'dig @intranet api.example.com',
  'git clone intranet:a/b',
  'git fetch intranet:a/b',
  'git remote add x intranet:a/b',
  'psql -h intranet -c "select 1"',
  'psql host=intranet',
  'psql "host=intranet dbname=x"',
  'psql -d "host=intranet" -c "select 1"',
  'mysql -hintranet',
];

/** A rule about commands must not miss one that it cannot read. */
const unreadable: readonly string[] = [
  'rm -rf $HOME',
  'rm $(ls)',
  '(rm x)',
  '{ rm x; }',
  'if true; then rm x; fi',
  'for i in 1; do rm x; done',
  '! rm x',
  'rm x &',
  'echo `rm x`',
  'ls # x\nrm x',
  'r$@m x',
  'rm x <<EOF\nEOF',
];

export const misreadFamily: Family = {
  title: 'Commands that are easily misread',
  file: 'test/attacks/misread-classes.ts',
  classes: [
    attackClass({
      id: 'misread-options',
      title: 'an option whose value, or whose lack of one, hides the program that runs',
      attempts: texts(options),
      run,
    }),
    attackClass({
      id: 'misread-own-options',
      title: 'options and programs that run others and are less known',
      attempts: texts(ownOptions),
      run,
    }),
    attackClass({
      id: 'misread-shells',
      title: 'letters of shells, other shells, and words that change later commands',
      attempts: texts(shells),
      run,
    }),
    attackClass({
      id: 'misread-scripts',
      title: 'scripts of awk and sed whose quotes and brackets mislead',
      attempts: texts(scripts),
      run,
    }),
    attackClass({
      id: 'misread-lists',
      title: 'a list of words that ends in a comment once a tool joins it',
      attempts: lists.map((command) => ({ name: command.join(' '), input: { command: [...command] } })),
      run,
    }),
    attackClass({
      id: 'misread-conditions',
      title: 'an unreadable command under a rule with `found.commands`',
      attempts: texts(unreadable),
      run: ({ input }, door) =>
        callTool({ door, contracts: loadDocument(conditions, door), tool: 'Bash', input }),
    }),
    attackClass({
      id: 'misread-hosts',
      title: 'hosts without a dot, and short addresses, for programs that connect to them',
      attempts: texts(hosts),
      run,
    }),
  ],
};
