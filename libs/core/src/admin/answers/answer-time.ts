/** Returns a time as the admin API writes it. */
export const answerTime = (milliseconds: number): string => {
  const time = new Date(milliseconds);
  return Number.isNaN(time.getTime()) ? new Date(0).toISOString() : time.toISOString();
};
