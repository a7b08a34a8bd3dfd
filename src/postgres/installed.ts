/** Rejects, with a sentence that says what to install, where `pg` is not there. */
export async function assertPgInstalled(): Promise<void> {
  // Loaded here, because the types of these packages must not get into the public ones.
  const { loadPg } = await import('./packages.ts')
  await loadPg()
}
