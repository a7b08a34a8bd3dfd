/** The files of a release: its packages, and for each the list of what it depends on (SBOM). */
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import creator from '../../create-pannier/package.json' with { type: 'json' }
import manifest from '../../package.json' with { type: 'json' }
import migrator from '../../pannier-migrate/package.json' with { type: 'json' }
import { root } from '../repository.ts'

export interface RunOptions {
  readonly cwd?: string
  /** Whether the output is shown instead of returned. @default false */
  readonly shown?: boolean
}

/** Runs a program and returns its output; throws if it fails. */
export function run(program: string, args: readonly string[], { cwd = root, shown = false }: RunOptions = {}): string {
  const output = shown ? 'inherit' : 'pipe'
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    cwd,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
    stdio: ['ignore', output, output],
  })
  if (status === 0) return stdout ?? ''
  throw new Error(`${program} ${args.join(' ')} failed. ${error?.message ?? stderr ?? ''}`.trim())
}

interface ReleasedPackage {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly license: string
  readonly dependencies?: Readonly<Record<string, string>>
}

/** What one release publishes, by folder. All have the same version. */
export const packages: ReadonlyMap<string, ReleasedPackage> = new Map<string, ReleasedPackage>([
  ['.', manifest],
  ['create-pannier', creator],
  ['pannier-migrate', migrator],
])

/** Builds and packs the packages into a folder, each with its SBOM beside it, and returns the paths. */
export function packInto(folder: string): string[] {
  rmSync(join(root, folder), { recursive: true, force: true })
  mkdirSync(join(root, folder))
  return [...packages].flatMap(([path, released]) => {
    run('npm', ['pack', '--pack-destination', join(root, folder)], { cwd: join(root, path) })
    const name = `${folder}/${released.name}-${released.version}`
    writeFileSync(join(root, `${name}.cdx.json`), makeSbom(released))
    return [`${name}.tgz`, `${name}.cdx.json`]
  })
}

/**
 * The dependencies of a package in CycloneDX, with the versions of the lockfile. `npm sbom --omit dev` leaves out what a
 * development dependency needs too, so the list is made in a project without any.
 */
export function makeSbom({ name, version, description, license, dependencies }: ReleasedPackage = manifest): string {
  const folder = mkdtempSync(join(tmpdir(), 'pannier-sbom-'))
  try {
    const cwd = join(folder, name) // npm names the component after the folder
    mkdirSync(cwd)
    writeFileSync(join(cwd, 'package.json'), JSON.stringify({ name, version, description, license, dependencies }))
    copyFileSync(join(root, 'package-lock.json'), join(cwd, 'package-lock.json'))
    run('npm', ['install', '--package-lock-only', '--offline', '--no-audit', '--no-fund'], { cwd })
    return run('npm', ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx'], { cwd })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
