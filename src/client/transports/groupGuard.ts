/**
 * Ends process groups when this process is killed and cannot do it itself. Most servers end with their input, some do not.
 *
 * The guard is a shell that reads which groups there are. Its input ends when this process does, however that ends. It is in a
 * session of its own, so that no signal of a terminal reaches it. On Windows, and where there is no `/bin/sh`, there is none.
 */
import { spawn } from 'node:child_process'
import { Socket } from 'node:net'
import type { Writable } from 'node:stream'

const SCRIPT = `
groups=''
while read -r change group; do
  case $change in
    +) groups="$groups $group" ;;
    -) rest=''
      for each in $groups; do [ "$each" = "$group" ] || rest="$rest $each"; done
      groups=$rest ;;
  esac
done
left=''
for each in $groups; do kill -s 0 -- "-$each" 2>/dev/null && left="$left $each"; done
[ -n "$left" ] || exit 0
for signal in TERM KILL; do
  sleep 2
  for each in $left; do kill -s $signal -- "-$each" 2>/dev/null; done
done
`

export class GroupGuard {
  #input: Writable | undefined

  /** Undefined where this system has none. */
  static start(): GroupGuard | undefined {
    return process.platform === 'win32' ? undefined : new GroupGuard()
  }

  private constructor() {
    const shell = spawn('/bin/sh', ['-c', SCRIPT], { detached: true, stdio: ['pipe', 'ignore', 'ignore'], env: {} })
    this.#input = shell.stdin
    const lose = (): void => void (this.#input = undefined)
    shell.once('error', lose)
    shell.once('exit', lose)
    shell.unref()
    // There is none where this process may open no more files.
    const input: Writable | undefined = shell.stdin
    input?.on('error', lose)
    if (input instanceof Socket) input.unref()
  }

  /** Whether it has ended, or could not be started. */
  get isLost(): boolean {
    return this.#input === undefined
  }

  add(group: number): void {
    this.#input?.write(`+ ${group}\n`)
  }

  remove(group: number): void {
    this.#input?.write(`- ${group}\n`)
  }
}
