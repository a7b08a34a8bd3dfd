/** The mcp.json files of common programs, at their places on this platform. Nothing in them is started. */
import { homedir } from 'node:os'
import { posix, win32 } from 'node:path'
import { stat } from 'node:fs/promises'
import { ClientError, clientCode, entryNames } from '../../client/index.ts'
import type { Env } from '../../client/internal.ts'
import { shellWord } from './advice.ts'

/** An existing file with servers. */
export interface UsualPlace {
  /** The program that the file belongs to: `Claude Code`. */
  readonly program: string
  readonly file: string
  /** The number of its enabled servers; or the reason why it cannot be read. */
  readonly servers: number | { readonly problem: string }
  /** The command that serves them. */
  readonly command: string
}

export interface UserMachine {
  readonly platform: NodeJS.Platform
  readonly home: string
  readonly cwd: string
  readonly env: Env
}

export async function usualPlaces(machine: Partial<UserMachine> = {}): Promise<readonly UsualPlace[]> {
  const given = { platform: process.platform, home: homedir(), cwd: process.cwd(), env: process.env, ...machine }
  const places = await Promise.all(
    candidates(given).map(async ({ program, file }) => {
      const servers = await countServers(file)
      const command = `pannier gateway ${shellWord(file, given.platform)}`
      return servers === undefined ? [] : [{ program, file, servers, command }]
    }),
  )
  return places.flat()
}

/** The places of the files: first those of this folder, then those of the user. */
export function candidates(machine: UserMachine): readonly { readonly program: string; readonly file: string }[] {
  const { platform, home, cwd } = machine
  const { join } = platform === 'win32' ? win32 : posix
  const config = configFolder(machine)
  const files: readonly (readonly [string, string, ...string[]])[] = [
    ['this folder', cwd, 'mcp.json'],
    ['Claude Code', cwd, '.mcp.json'],
    ['VS Code', cwd, '.vscode', 'mcp.json'],
    ['Cursor', cwd, '.cursor', 'mcp.json'],
    ['Gemini CLI', cwd, '.gemini', 'settings.json'],
    ['Claude Code', home, '.claude.json'],
    ['Claude Desktop', config, 'Claude', 'claude_desktop_config.json'],
    ['VS Code', config, 'Code', 'User', 'mcp.json'],
    ['VS Code', config, 'Code', 'User', 'settings.json'],
    ['Cursor', home, '.cursor', 'mcp.json'],
    ['Copilot', home, '.copilot', 'mcp-config.json'],
    ['Gemini CLI', home, '.gemini', 'settings.json'],
    ['Windsurf', home, '.codeium', 'windsurf', 'mcp_config.json'],
  ]
  const seen = new Set<string>()
  return files
    .map(([program, ...parts]) => ({ program, file: join(...parts) }))
    .filter(({ file }) => !seen.has(file) && seen.add(file))
}

/** The folder of programs' settings. */
function configFolder({ platform, home, env }: UserMachine): string {
  if (platform === 'darwin') return posix.join(home, 'Library', 'Application Support')
  if (platform === 'win32') return env['APPDATA'] ?? win32.join(home, 'AppData', 'Roaming')
  return env['XDG_CONFIG_HOME'] || posix.join(home, '.config')
}

/** Returns undefined if there is no file, or one without servers. */
async function countServers(file: string): Promise<UsualPlace['servers'] | undefined> {
  const found = await stat(file).catch(() => undefined)
  if (found?.isFile() !== true) return undefined
  try {
    return (await entryNames(file)).length || undefined
  } catch (error) {
    if (clientCode(error) === 'CONFIG_INVALID') return undefined // settings without servers
    if (error instanceof ClientError) return { problem: error.message }
    throw error
  }
}
