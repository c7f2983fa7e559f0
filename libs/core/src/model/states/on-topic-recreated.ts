/** What happens to a main topic that is deleted and created again while it is read. */
export type OnTopicRecreated = 'stop' | 'earliest' | 'latest';
