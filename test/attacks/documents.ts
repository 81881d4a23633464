/** The documents that the attempts are made against. */
const head = (name: string): string => `apiVersion: quittance/v1
kind: Ruleset
metadata: {name: ${name}}
defaults: {mode: enforce}
rules:
`;

export const documents = {
  files: `${head('files')}
  - id: project-only
    type: sandbox
    tools: [Read, Write, Edit, "mcp_*"]
    within: [/home/user/project, /tmp/scratch]
    not_within: [/home/user/project/secrets]
    message: Stay in the project.
`,
  shell: `${head('shell')}
  - id: safe-commands
    type: sandbox
    tool: Bash
    within: [/home/user/project]
    not_within: [/home/user/project/secrets]
    allows: {commands: [ls, cat, grep, git, find, curl, sudo, bash, bash build.sh]}
    message: Only safe commands in the project.
`,
  unknown: `${head('unknown')}
  - id: one-program
    type: sandbox
    tool: Bash
    allows: {commands: [frobnicate, 'mystery *'], domains: [api.example.com]}
    message: Only this program.
`,
  network: `${head('network')}
  - id: known-hosts
    type: sandbox
    tools: [Fetch, Bash]
    allows: {domains: [api.example.com, "*.cdn.example.com"]}
    message: Only known hosts.
`,
  internet: `${head('internet')}
  - id: not-inside
    type: sandbox
    tool: Fetch
    allows: {domains: ["*"]}
    not_allows: {domains: [127.0.0.1, "[::1]", localhost, 169.254.169.254, evil.com, "*.evil.com"]}
    message: Not these hosts.
`,
  names: `${head('names')}
  - id: no-shell
    type: pre
    tool: Bash
    when: {args.command: {contains: rm}}
    then: {action: block, message: No rm.}
  - id: no-mcp
    type: pre
    tool: "mcp_*"
    when: {tool.name: {exists: true}}
    then: {action: block, message: No MCP tools.}
  - id: no-brackets
    type: pre
    tool: "[[]x]*"
    when: {tool.name: {exists: true}}
    then: {action: block, message: No brackets.}
`,
  closed: `${head('closed')}
  - id: nothing-else
    type: pre
    tool: "*"
    when: {tool.name: {not_in: [Read, Write]}}
    then: {action: block, message: Only Read and Write.}
`,
  values: `${head('values')}
  - id: small-amounts
    type: pre
    tool: Transfer
    when:
      any:
        - args.amount: {gt: 1000}
        - args.account: {matches: '(?i)^internal-'}
        - args.memo: {matches: '^(a+)+$'}
        - args.memo: {contains: drop table}
        - args.options.force: {equals: true}
        - args.to: {not_in: [alice, bob], on_missing: fire}
    then: {action: block, message: "Not {args.to}."}
`,
  outputs: `${head('outputs')}
  - id: no-keys
    type: post
    tool: "*"
    when: {output.text: {matches: 'sk-[a-z]+-[0-9a-f]{16}'}}
    then: {action: redact, message: A key was hidden.}
`,
} as const;
