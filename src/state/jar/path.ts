import { homedir } from 'node:os'
import { posix, win32 } from 'node:path'

interface Machine {
  env?: Readonly<Record<string, string | undefined>>
  platform?: NodeJS.Platform
  home?: string
}

/** Where the jar of the program `pannier` lies: in the folder where this system keeps a user's data. */
export function defaultJarPath({ env = process.env, platform = process.platform, home }: Machine = {}): string {
  const { join, isAbsolute } = platform === 'win32' ? win32 : posix
  const own = () => home ?? homedir()
  // The XDG rules: a relative path counts as none.
  const named = platform === 'win32' ? env['LOCALAPPDATA'] : env['XDG_DATA_HOME']
  if (named !== undefined && isAbsolute(named)) return join(named, 'pannier', 'jar.db')
  if (platform === 'win32') return join(own(), 'AppData', 'Local', 'pannier', 'jar.db')
  if (platform === 'darwin') return join(own(), 'Library', 'Application Support', 'pannier', 'jar.db')
  return join(own(), '.local', 'share', 'pannier', 'jar.db')
}
