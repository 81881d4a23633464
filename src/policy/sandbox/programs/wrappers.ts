/** Programs that run the command in their arguments. */
import { all, mean, plain, prefix, prefixAfterOne, refused } from './build-grammar.ts';
import type { Programs } from './grammar.ts';

export const wrappers: Programs = {
  env: prefix('-u --unset -C --chdir -a --argv0', '-i --ignore-environment -0 --null -v', {
    assignments: 'skip',
    options: mean('text', '-S --split-string'),
  }),
  sudo: prefix(
    '-u --user -g --group -h --host -p --prompt -C --close-from -D --chdir -R --chroot -T --command-timeout -U --other-user -r --role -t --type',
    '-n --non-interactive -E --preserve-env -H --set-home -S --stdin -k --reset-timestamp -b --background -P --preserve-groups -v --validate -l --list',
    { assignments: 'refuse', options: mean('refused', '-s --shell -i --login -e --edit -A --askpass') },
  ),
  doas: prefix('-u -C', '-n -L', { options: mean('refused', '-s') }),
  pkexec: prefix('--user', '--keep-cwd --disable-internal-agent'),
  ...all('gosu su-exec setuidgid chpst s6-setuidgid', prefixAfterOne('')),
  runuser: prefix('-u --user -g --group', '', { options: mean('text', '-c --command') }),
  sg: prefixAfterOne('', '', { options: mean('text', '-c') }),
  newgrp: refused,
  nohup: prefix(''),
  nice: prefix('-n --adjustment', '-0 -1 -2 -3 -4 -5 -6 -7 -8 -9'),
  ionice: prefix('-c --class -n --classdata -p --pid -P -u', '-t --ignore'),
  chrt: prefixAfterOne('-T -P -D', '-b -f -i -o -r -d -a -R -v --batch --fifo --idle --other --rr'),
  taskset: prefixAfterOne('', '-a -c --all-tasks --cpu-list'),
  numactl: prefix(
    '-N -m -C -i -p --cpunodebind --membind --interleave --physcpubind --preferred',
    '-l --localalloc -a --all',
  ),
  ...all('setarch', prefixAfterOne('', '-R -v -B -F -L -S -T -X -Z')),
  ...all('linux32 linux64 i386 x86_64', prefix('', '-R -v -B -F -L -S -T -X -Z')),
  prlimit: prefix('-p --pid -o --output', '--noheadings --raw'),
  choom: prefix('-n --adjust -p --pid'),
  cpulimit: prefix('-l --limit -p --pid -e --exe -P --path', '-z -i -f -q -v -b'),
  time: prefix('-f --format -o --output', '-p --portability -a --append -v -l -h -q'),
  ...all(
    'timeout gtimeout',
    prefixAfterOne('-k --kill-after -s --signal', '-f --foreground -p --preserve-status -v'),
  ),
  stdbuf: prefix('-i --input -o --output -e --error'),
  unbuffer: prefix('', '-p'),
  setsid: prefix('', '-c --ctty -f --fork -w --wait'),
  setpriv: prefix(
    '--reuid --regid --groups --inh-caps --bounding-set --ambient-caps --pdeathsig --selinux-label --apparmor-profile',
    '--clear-groups --keep-groups --init-groups --nnp --reset-env -d --dump',
  ),
  capsh: refused,
  busybox: prefix(''),
  toybox: prefix(''),
  chroot: prefixAfterOne('--userspec --groups', '--skip-chdir'),
  unshare: prefix(
    '--root --wd --propagation -S --setuid -G --setgid -w -R --map-user --map-group --map-users --map-groups',
    '-m -u -i -n -p -U -C -T -f -r -c --mount --uts --ipc --net --pid --user --cgroup --time --fork --map-root-user --map-current-user --keep-caps --mount-proc',
  ),
  // The values of `-r` and `-w` are attached to them, if they have any.
  nsenter: prefix(
    '-t --target -S --setuid -G --setgid',
    '-a --all -m --mount -u --uts -i --ipc -n --net -p --pid -C --cgroup -U --user -T --time -r --root -w --wd -F -Z -e --env',
  ),
  ...all('bwrap firejail nsjail', refused),
  proot: prefix('-r -b -w -R -q', '-0'),
  fakeroot: prefix('-l -i -s -b', '-u'),
  flock: prefixAfterOne(
    '-w --timeout -E --conflict-exit-code',
    '-s --shared -x -e --exclusive -u --unlock -n --nb --nonblock -o --close -F --no-fork',
    { options: mean('text', '-c --command') },
  ),
  strace: prefix(
    '-o --output -e --trace -p --attach -s --string-limit -u --user -E --env -a --columns -P --trace-path -S -O -I -b -X',
    '-f -c -C -d -F -i -k -n -q -r -t -T -v -w -x -y -z -Z -A --follow-forks --summary-only --summary',
  ),
  ltrace: prefix('-o -e -p -s -u -n -l -x -a -D -F', '-f -c -C -S -i -r -t -T -L -b'),
  valgrind: prefix('', '-q -v -d -s'),
  perf: {
    commands: {
      stat: prefix('-e -o -r -p -x -t -C -I -D -G', '-a -d -v -B -A -i -n -g'),
      record: prefix('-e -o -F -p -c -t -C -u -m -D -b -j', '-a -g -v -q -R -s -d -n -i'),
      list: plain,
      report: plain,
    },
  },
  watch: {
    optionsFirst: true,
    runs: { after: 0, as: 'text' },
    options: {
      ...mean('value', '-n --interval -q --equexit -s --shotsdir'),
      ...mean(
        'flag',
        '-b --beep -c --color -C -d --differences -e --errexit -g --chgexit -p --precise -r -t -w -x -f --follow',
      ),
    },
  },
  // On BSD and macOS the words after the file are the command.
  script: prefixAfterOne('-I -O -B -T -m -o -E -t', '-a -d -e -f -k -p -q -r --append --flush --return', {
    needsOperand: true,
    options: mean('text', '-c --command'),
  }),
  parallel: {
    optionsFirst: true,
    runs: { after: 0, as: 'text' },
    readsNames: true,
    options: {
      ...mean(
        'value',
        '-j --jobs -n -N -I --delay --timeout --joblog -S --sshlogin --colsep -L -a --arg-file',
      ),
      ...mean(
        'flag',
        '-k --keep-order -q -t -u -v -X -m -0 --null --bar --progress --eta --dry-run --will-cite',
      ),
    },
  },
  // The value of `--replace` is attached to it, if it has one.
  xargs: {
    optionsFirst: true,
    runs: { after: 0, as: 'words' },
    readsNames: true,
    options: {
      ...mean(
        'value',
        '-I -n -P -L -s -d -E --max-args --max-procs --max-chars --delimiter -a --arg-file --process-slot-var',
      ),
      ...mean(
        'flag',
        '-0 --null -r --no-run-if-empty -t -p --interactive -x --exit -o --open-tty -i --replace -l --max-lines -e --eof',
      ),
    },
  },
  caffeinate: prefix('-t -w', '-d -i -m -s -u'),
  ...all('systemd-run systemd-nspawn machinectl start-stop-daemon run-parts xterm', refused),
  ...all('systemd-inhibit systemd-cat dumb-init tini catatonit', prefix('')),
  ...all('ssh-agent gpg-agent dbus-launch', refused),
  ...all('rlwrap torsocks torify tsocks proxychains proxychains4 eatmydata winpty wsl', prefix('')),
  sshpass: prefix('-p -f -d -P', '-e -v'),
  faketime: prefixAfterOne('-m -p', '-f'),
  logsave: prefixAfterOne('', '-a -s -v'),
  ...all('hyperfine mpirun mpiexec srun', refused),
  'dbus-run-session': prefix('--config-file --dbus-daemon'),
  'xvfb-run': prefix(
    '-n -s -e -f -p -w --server-num --server-args --error-file --auth-file --xauth-protocol --wait',
    '-a --auto-servernum -l --listen-tcp',
  ),
  direnv: { commands: { exec: prefixAfterOne(''), status: plain, version: plain } },
  entr: prefix('', '-a -c -d -n -p -r -x -z'),
  ...all('screen tmux at batch crontab gdb lldb', refused),
};
