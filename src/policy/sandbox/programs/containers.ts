/** Containers and infrastructure. */
import { all, mean, plain, prefixAfterOne, refused } from './build-grammar.ts';
import type { ProgramGrammar, Programs } from './grammar.ts';

const dockerExec: ProgramGrammar = prefixAfterOne(
  '-e --env --env-file -u --user -w --workdir --detach-keys --index',
  '-i -t -T -d --interactive --tty --detach',
);

const docker: ProgramGrammar = {
  ownOptionsFirst: true,
  options: {
    ...mean('value', '-H --host --context -c --config -l --log-level --tlscacert --tlscert --tlskey'),
    ...mean('flag', '-D --tls --tlsverify -v'),
  },
  commands: {
    run: dockerRun(),
    create: dockerRun(),
    exec: dockerExec,
    container: {
      commands: {
        run: dockerRun(),
        exec: dockerExec,
        ls: plain,
        logs: plain,
        inspect: plain,
        stop: plain,
        start: plain,
        restart: plain,
        stats: plain,
        top: plain,
        rm: plain,
        prune: plain,
      },
    },
    compose: {
      options: {
        ...mean(
          'value',
          '-f --file -p --project-name --profile --env-file --project-directory --ansi --progress --parallel',
        ),
        ...mean('flag', '--dry-run --compatibility --all-resources'),
      },
      commands: {
        exec: dockerExec,
        run: prefixAfterOne(
          '-e --env -u --user -w --workdir -v --volume -p --publish --name -l --label',
          '--rm -i -t -T -d --interactive --tty --detach --no-deps --build --service-ports --use-aliases -q',
          { options: mean('program', '--entrypoint') },
        ),
        ...all(
          'up down ps logs build pull push restart stop start config images top events port rm kill ls version create pause unpause',
          plain,
        ),
      },
    },
    ...all(
      'ps images logs inspect stats top port diff info version events history pull push tag search stop start restart kill rm rmi build cp commit save load network volume image system login logout rename update wait pause unpause manifest',
      plain,
    ),
  },
};

function dockerRun(): ProgramGrammar {
  return {
    // The image decides what runs, so an entry must name the command.
    refused: true,
    optionsFirst: true,
    runs: { after: 1, as: 'words' },
    options: {
      ...mean(
        'value',
        '-e --env --env-file -v --volume --mount -p --publish --name -w --workdir -u --user --network --net -l --label -m --memory --cpus --restart --platform -h --hostname --add-host --pull --tmpfs --shm-size --ulimit --device --gpus --dns --log-driver --log-opt --cidfile --health-cmd --stop-signal --expose --link --ip --mac-address --pid --ipc --uts --userns --cgroupns --cap-drop --security-opt --sysctl --group-add --annotation --isolation --memory-swap --cpu-shares --cpuset-cpus --runtime --storage-opt --stop-timeout --volumes-from --volume-driver',
      ),
      ...mean('flag', '--rm -i -t -d -P -q --interactive --tty --detach --publish-all --init --read-only'),
      ...mean('program', '--entrypoint'),
      ...mean('refused', '--privileged --cap-add'),
    },
  };
}

const kubectlValues =
  '-n --namespace --context --cluster --user --kubeconfig -o --output -l --selector -f --filename -c --container --as --token --request-timeout --field-selector -k --kustomize --since --tail --sort-by --template --dry-run --type -p --patch --timeout --for --replicas --port --image --from-literal --as-group';

const kubectl: ProgramGrammar = {
  options: { ...mean('value', kubectlValues), ...mean('host', '-s --server') },
  commands: {
    exec: {
      options: { ...mean('value', kubectlValues), ...mean('flag', '-i -t -q --stdin --tty') },
      runs: { after: 1, as: 'words' },
    },
    debug: refused,
    run: {
      runs: { after: 1, as: 'words' },
      options: {
        ...mean('refused', '--overrides'),
        ...mean('value', '--restart --labels --env --image-pull-policy'),
        ...mean('flag', '--command --rm -i -t -q --stdin --tty --attach --expose'),
      },
    },
    cp: plain,
    edit: refused,
    plugin: refused,
    ...all(
      'get describe logs apply delete create scale rollout set label annotate patch top version config cluster-info explain api-resources api-versions auth diff wait port-forward proxy cordon uncordon drain taint expose autoscale replace events kustomize',
      plain,
    ),
  },
};

export const containers: Programs = {
  docker,
  podman: docker,
  kubectl,
  oc: kubectl,
  helm: {
    options: {
      ...mean('program', '--post-renderer'),
      ...mean('value', '-n --namespace --kube-context --kubeconfig -f --values --set --version --repo'),
      ...mean('host', '--kube-apiserver'),
    },
    commands: all(
      'list ls status get history show search repo template lint upgrade install uninstall rollback test version dependency pull package env',
      { options: { ...mean('program', '--post-renderer') } },
    ),
  },
  ansible: { options: mean('refused', '-a --args') },
  terraform: {
    options: { ...mean('value', '-chdir'), ...mean('flag', '-help -version -v') },
    longWithOneDash: true,
    commands: all(
      'plan apply init validate fmt show state output providers version workspace refresh import graph destroy taint untaint get test',
      { longWithOneDash: true },
    ),
  },
};
