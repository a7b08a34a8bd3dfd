import { afterEach, expect, test, vi } from 'vitest'
import { type Machine, programServer } from './serverKey.ts'

afterEach(() => vi.unstubAllGlobals())

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

test('a program is found in the folders of PATH, the first one first, or where its path says', () => {
  const machine = machineWith({}, '/usr/bin/npx', '/opt/npx', '/home/npx')
  const find = (command: string, env: Record<string, string>) => programServer({ command, args: [], env }, machine)
  expect(find('npx', { PATH: '/none:/opt:/usr/bin' })).toEqual({ server: '/opt/npx' })
  expect(find('npx', { Path: '/usr/bin' })).toEqual({ server: '/usr/bin/npx' })
  expect(find('npx', { PATH: '/opt', Path: '/usr/bin' })).toEqual({ server: '/opt/npx' })
  expect(find('npx', { PATH: '/none' })).toHaveProperty('refused')
  expect(find('../opt/npx', { PATH: '/none' })).toEqual({ server: '/opt/npx' })
})

test('on Windows a program is found by the extensions of PATHEXT, unless it has one', () => {
  vi.stubGlobal('process', { ...process, platform: 'win32' })
  const machine = machineWith({}, '/bin/npx.CMD', '/bin/node.EXE', '/bin/odd.FOO', '/bin/plain')
  const find = (command: string, env = {}) => {
    const found = programServer({ command, args: [], env: { PATH: '/bin', ...env } }, machine)
    return 'server' in found ? found.server : undefined
  }
  expect([find('npx'), find('node'), find('npx.CMD')]).toEqual(['/bin/npx.CMD', '/bin/node.EXE', '/bin/npx.CMD'])
  expect([find('odd'), find('plain'), find('odd', { PATHEXT: '.FOO' })]).toEqual([undefined, undefined, '/bin/odd.FOO'])
})
