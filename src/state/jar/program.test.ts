import { expect, test } from 'vitest'
import type { Machine } from './machine.ts'
import { programServer } from './program.ts'

/** A machine with these files, of which all are programs. */
const machineWith = (env: Record<string, string>, ...paths: string[]): Machine => {
  const has = (path: string): boolean => paths.includes(path)
  return { env, cwd: () => '/home', realPath: (path) => (has(path) ? path : undefined), isProgram: has }
}

test('a program is looked for in the environment that it is started with: its own before the inherited one', () => {
  const machine = machineWith({ PATH: '/usr/bin' }, '/usr/bin/server', '/opt/server')
  expect(programServer({ command: 'server', args: [] }, machine)).toEqual({ server: '/usr/bin/server' })
  const env = { PATH: '/opt' }
  expect(programServer({ command: 'server', args: [], env }, machine)).toEqual({ server: '/opt/server' })
  const other = { TOKEN: 'x' }
  expect(programServer({ command: 'server', args: [], env: other }, machine)).toEqual({ server: '/usr/bin/server' })
})

test('a path is looked for in the folder that the program is started in', () => {
  const machine = machineWith({}, '/home/server', '/home/in/server')
  expect(programServer({ command: './server', args: [] }, machine)).toEqual({ server: '/home/server' })
  expect(programServer({ command: './server', args: [], cwd: 'in' }, machine)).toEqual({ server: '/home/in/server' })
  expect(programServer({ command: './none', args: [] }, machine)).toHaveProperty('refused')
})

test('behind the shell of Windows is the program that it starts, and a shell alone shows no file', () => {
  const machine = machineWith({ PATH: '/bin' }, '/bin/server', '/bin/cmd')
  expect(programServer({ command: 'cmd', args: ['/c', 'server'] }, machine)).toEqual({ server: '/bin/server' })
  expect(programServer({ command: 'cmd', args: ['/C', 'server', 'x'] }, machine)).toEqual({ server: '/bin/server' })
  expect(programServer({ command: 'cmd', args: [] }, machine)).toHaveProperty('refused')
})
