import { fileURLToPath } from 'node:url'
import { commandLineDriver } from '../../drivers/commandLine.js'

function server(target) {
  if ('url' in target) return ['--http-url', target.url, '--allow-http', '--name', 'interop']
  return ['--stdio', target.command, ...target.args.flatMap((arg) => ['--stdio-arg', arg]), '--name', 'interop']
}

export default commandLineDriver({
  program: fileURLToPath(new URL('node_modules/mcporter/dist/cli.js', import.meta.url)),
  list: (target) => ['list', ...server(target), '--json'],
  call: (target, name, args) => [
    'call',
    ...server(target),
    '--tool',
    name,
    '--args',
    JSON.stringify(args),
    '--output',
    'text',
  ],
  names: (output) => JSON.parse(output).tools.map(({ name }) => name),
  text: (output) => output.trim(),
})
