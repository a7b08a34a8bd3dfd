import { afterEach, expect, test, vi } from 'vitest'
import { findProgram, findUpward, type Machine } from './machine.ts'

afterEach(() => vi.unstubAllGlobals())

/** A machine with these files, of which all are programs. */
function machineWith(...paths: string[]): Machine {
  const has = (path: string): boolean => paths.includes(path)
  return { env: {}, cwd: () => '/home', realPath: (path) => (has(path) ? path : undefined), isProgram: has }
}

test('a program is found in the folders of PATH, the first one first, or where its path says', () => {
  const machine = machineWith('/usr/bin/npx', '/opt/npx', '/home/npx')
  const find = (command: string, env: Record<string, string>) => findProgram(command, { cwd: '/home', env }, machine)
  expect(find('npx', { PATH: '/none:/opt:/usr/bin' })).toBe('/opt/npx')
  expect(find('npx', { Path: '/usr/bin' })).toBe('/usr/bin/npx')
  expect(find('npx', { PATH: '/opt', Path: '/usr/bin' })).toBe('/opt/npx')
  expect(find('npx', { PATH: '/none' })).toBeUndefined()
  expect(find('./npx', { PATH: '/opt' })).toBe('/home/npx')
  expect(find('../opt/npx', { PATH: '/none' })).toBe('/opt/npx')
})

test('on Windows a program is found by the extensions of PATHEXT, unless it has one', () => {
  vi.stubGlobal('process', { ...process, platform: 'win32' })
  const machine = machineWith('/bin/npx.CMD', '/bin/node.EXE', '/bin/odd.FOO', '/bin/plain')
  const find = (command: string, env = {}) => findProgram(command, { cwd: '/', env: { PATH: '/bin', ...env } }, machine)
  expect([find('npx'), find('node'), find('npx.CMD')]).toEqual(['/bin/npx.CMD', '/bin/node.EXE', '/bin/npx.CMD'])
  expect([find('odd'), find('plain'), find('odd', { PATHEXT: '.FOO' })]).toEqual([undefined, undefined, '/bin/odd.FOO'])
})

test('a file is found in a folder or in the nearest one above it', () => {
  const machine = machineWith('/a/b/x', '/a/x', '/y')
  expect(findUpward('/a/b/c', 'x', machine)).toBe('/a/b/x')
  expect(findUpward('/a', 'x', machine)).toBe('/a/x')
  expect([findUpward('/a/b', 'y', machine), findUpward('/a/b', 'z', machine)]).toEqual(['/y', undefined])
})
