import manifest from '../../package.json' with { type: 'json' }

/** The package's version. It is part of the built program, wherever that stands. */
export function readVersion(): string {
  return manifest.version
}
